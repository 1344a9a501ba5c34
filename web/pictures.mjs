// The screenshots of docs/pictures: a finding of examples/visits.cc as a browser shows it, and the
// place of a finding in a generated run as `syndrome explore` does.
//
//   SYNDROME=path/to/syndrome node pictures.mjs     (make pictures)

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, project, run, syndrome } from "./browser.mjs";

const work = mkdtempSync(join(tmpdir(), "syndrome-pictures-"));
const out = join(project, "docs/pictures");
mkdirSync(out, { recursive: true });

run(["c++", "-g", "-std=c++20", "-pthread", join(project, "examples/visits.cc"), "-o", "visits"], work);
run(["record", "-o", "visits.syn", "--", "./visits"], work);
run(["check", "--check", "atomicity,races,atomic-sets", "--format", "html", "-o", "visits.html", "visits.syn"], work);
const browser = await launch();
const page = await (await browser.newContext({ viewport: { width: 1180, height: 760 } })).newPage();
await page.goto(`file://${join(work, "visits.html")}`);
await page.locator(".lanes").waitFor();
await page.screenshot({ path: join(out, "page.png") });
await page.locator(".pictures").screenshot({ path: join(out, "finding.png") });

run(["trace", "generate", "--events", "300000", "--threads", "5", "--violations", "2", "--seed", "3", "-o", "run.syn"], work);
const server = spawn(syndrome, ["explore", "run.syn"], { cwd: work, stdio: ["ignore", "pipe", "inherit"] });
const address = await new Promise((found) => server.stdout.once("data", (text) => found(String(text).trim())));
const explorer = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
await explorer.goto(address);
await explorer.locator(".list [role=option]").first().waitFor();
await explorer.waitForTimeout(500);
await explorer.screenshot({ path: join(out, "explore.png") });
await explorer.locator(".list [role=option]").first().click();
await explorer.locator(".detail").waitFor();
await explorer.waitForTimeout(500);
await explorer.screenshot({ path: join(out, "explore-finding.png") });
await browser.close();
const ended = new Promise((done) => server.on("exit", done));
server.kill("SIGINT");
await ended;
rmSync(work, { recursive: true, force: true });
