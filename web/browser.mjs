// What the tests of the page and the script that makes its pictures share.

import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

export const project = resolve(import.meta.dirname, "..");
export const syndrome = resolve(process.env.SYNDROME ?? join(project, "build/bin/syndrome"));

/** What takes longer hangs, however much else the machine has to do, in ms. */
const patience = 300_000;

/** Debian's chromium, without a screen. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // A container's /dev/shm may be too small for a page.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
    timeout: patience,
  });
}

/** Runs syndrome, in the project if nothing else is said; findings are no failure. */
export function run(args, cwd = project) {
  try {
    return execFileSync(syndrome, args, { cwd, encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "inherit"] });
  } catch (error) {
    if (error.status !== 1) throw error;
    return error.stdout;
  }
}

/** Tries until it no longer throws: a page shows what was done to it a moment later. */
export async function eventually(check) {
  const began = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() - began > patience) throw error;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

/** A new page. What it asks of anyone but `home`, and whatever goes wrong in it, is in `wrong`. */
export async function newPage(browser, home, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  page.wrong = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(home) && !request.url().startsWith("data:")) page.wrong.push(request.url());
  });
  page.on("pageerror", (error) => page.wrong.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") page.wrong.push(message.text());
  });
  page.on("dialog", (dialog) => {
    page.wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  return page;
}
