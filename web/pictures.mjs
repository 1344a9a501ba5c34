// The screenshots of docs/pictures: a finding of examples/visits.cc as a browser shows it.
//
//   SYNDROME=path/to/syndrome node pictures.mjs     (make pictures)

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";

const project = resolve(import.meta.dirname, "..");
const syndrome = resolve(process.env.SYNDROME ?? join(project, "build/bin/syndrome"));
const work = mkdtempSync(join(tmpdir(), "syndrome-pictures-"));
const out = join(project, "docs/pictures");
mkdirSync(out, { recursive: true });
const run = (...args) => execFileSync(syndrome, args, { cwd: work, stdio: ["ignore", "ignore", "inherit"] });

run("c++", "-g", "-std=c++20", "-pthread", join(project, "examples/visits.cc"), "-o", "visits");
run("record", "-o", "visits.syn", "--", "./visits");
try {
  run("check", "--check", "atomicity,races,atomic-sets", "--format", "html", "-o", "visits.html", "visits.syn");
} catch (error) {
  if (error.status !== 1) throw error;
}
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await (await browser.newContext({ viewport: { width: 1180, height: 760 } })).newPage();
await page.goto(`file://${join(work, "visits.html")}`);
await page.locator(".lanes").waitFor();
await page.screenshot({ path: join(out, "page.png") });
await page.locator(".pictures").screenshot({ path: join(out, "finding.png") });
await browser.close();
rmSync(work, { recursive: true, force: true });
