// The page of `syndrome explore` in a real browser, served by the program itself.
//
//   SYNDROME=path/to/syndrome OUT=folder-for-pictures node --test test/

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { eventually, launch, newPage, project, run, syndrome } from "../browser.mjs";

const pictures = resolve(process.env.OUT ?? join(project, "build/web-pictures"));
const work = mkdtempSync(join(tmpdir(), "syndrome-explore-"));
const servers = [];
let browser;
let large;

before(async () => {
  mkdirSync(pictures, { recursive: true });
  run(["trace", "generate", "--events", "300000", "--threads", "5", "--violations", "2", "--seed", "3", "-o", join(work, "large.syn")]);
  browser = await launch();
  large = await serve("large.syn");
});
after(async () => {
  await browser?.close();
  for (const server of servers) server.kill("SIGKILL");
  rmSync(work, { recursive: true, force: true });
});

/** Starts the server of a trace in the work folder: its address, and how to end it. */
async function serve(file, ...args) {
  const child = spawn(syndrome, ["explore", file, ...args], { cwd: work, stdio: ["ignore", "pipe", "inherit"] });
  servers.push(child);
  const ended = new Promise((done) => child.on("exit", (code, signal) => done(code ?? signal)));
  let text = "";
  for await (const part of child.stdout) {
    text += part;
    if (text.includes("\n")) break;
  }
  return { address: text.trim(), child, ended };
}

async function open(server, options = {}) {
  const page = await newPage(browser, server.address, options);
  const began = performance.now();
  await page.goto(server.address);
  await page.locator(".rows tr[data-event]").first().waitFor();
  page.took = performance.now() - began;
  return page;
}

/** The events that are shown: [from, to]. */
async function range(page) {
  const text = await page.locator(".range").innerText();
  return text.match(/[0-9,]+/g).slice(0, 2).map((each) => Number(each.replaceAll(",", "")));
}
/** Waits until `what` is true of the range. */
function rangeWhere(page, what) {
  return eventually(async () => {
    const now = await range(page);
    assert.ok(what(...now), `events ${now}`);
    return now;
  });
}
const cursor = async (page) => Number(await page.locator(".rows tr.cursor").getAttribute("data-event"));
/** Waits until a canvas has more than five colours: one is there when nothing is painted. */
const painted = (page, canvas) =>
  eventually(async () => {
    const colours = await page.locator(canvas).evaluate((element) => {
      const { data } = element.getContext("2d").getImageData(0, 0, element.width, element.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });
    assert.ok(colours > 5, `${colours} colours`);
  });

test("the whole run, with its threads and what happens in it", async () => {
  const page = await open(large);
  assert.match(await page.locator(".summary").innerText(), /large\.syn 3\d\d,\d\d\d events, [56] threads/);
  const [from, to] = await range(page);
  assert.equal(from, 1);
  await page.locator(".counts", { hasText: "reads" }).waitFor();
  // The counts are those that `trace info` has.
  const info = run(["trace", "info", join(work, "large.syn")]);
  const reads = (await page.locator(".counts").innerText()).match(/([0-9,]+) reads/)[1];
  assert.ok(info.includes(reads) || info.includes(reads.replaceAll(",", "")), `${reads} reads, and\n${info}`);
  await painted(page, ".overview");
  await painted(page, ".lane-canvas");
  assert.ok((await page.locator(".lane-label").count()) >= 5);
  assert.equal(await page.locator(".rows tr[data-event]").first().getAttribute("data-event"), "1");
  await page.locator(".state", { hasText: "findings" }).waitFor();
  await page.waitForTimeout(200);
  await page.screenshot({ path: join(pictures, "explore-whole.png") });
  console.log(`explore: ${to} events, open in ${Math.round(page.took)} ms`);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("from the whole run down to single events, and back", async () => {
  const page = await open(large);
  const [, all] = await range(page);
  await page.keyboard.press("+");
  await rangeWhere(page, (from, to) => Math.abs(to - from + 1 - all / 2) < 3);
  const canvas = page.locator(".lane-canvas");
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 4, box.y + 40);
  let [from, to] = await range(page);
  for (let i = 0; i < 4; ++i) {
    await page.mouse.wheel(0, -400);
    [from, to] = await rangeWhere(page, (a, b) => b - a < to - from);
  }
  assert.ok(to - from < all / 10, `events ${from} to ${to}`);
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(pictures, "explore-middle.png") });
  await page.keyboard.press("ArrowRight");
  await rangeWhere(page, (a, b) => a > from && b > to);
  for (let i = 0; i < 16; ++i) await page.keyboard.press("+");
  const [first, last] = await rangeWhere(page, (a, b) => b - a < 20);
  await painted(page, ".lane-canvas");
  await page.screenshot({ path: join(pictures, "explore-single.png") });
  // A click on the lanes leads to the event in the list.
  await canvas.click({ position: { x: box.width / 2, y: 60 } });
  await eventually(async () => {
    const picked = await cursor(page);
    assert.ok(picked >= first && picked <= last, `${picked} of ${first} to ${last}`);
  });
  await page.keyboard.press("0");
  await rangeWhere(page, (a, b) => a === 1 && b === all);
  // A part of the whole run, chosen with the mouse.
  const strip = await page.locator(".overview").boundingBox();
  await page.mouse.move(strip.x + strip.width * 0.5, strip.y + 20);
  await page.mouse.down();
  await page.mouse.move(strip.x + strip.width * 0.75, strip.y + 20);
  await page.mouse.up();
  await rangeWhere(page, (a, b) => Math.abs(a - all * 0.5) < all * 0.02 && Math.abs(b - all * 0.75) < all * 0.02);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("the list of events goes to the end of the trace", async () => {
  const page = await open(large);
  const [, all] = await range(page);
  await page.keyboard.press("/");
  await page.keyboard.type(String(all));
  await page.locator(".matches", { hasText: "event" }).waitFor();
  await page.keyboard.press("Enter");
  // The row is there before its words are.
  await page.locator(`.rows tr.cursor[data-event="${all}"] .says`).filter({ hasNotText: /^…$/ }).waitFor();
  const words = await page.locator(".rows tr.cursor .says").innerText();
  const last = run(["trace", "cat", join(work, "large.syn")]).trimEnd().split("\n").at(-1);
  assert.match(last, /join|thread_stop|rel|end/);
  assert.ok(words.length > 3, words);
  await page.locator(".rows").focus();
  await page.keyboard.press("PageUp");
  await page.locator(`.rows tr.cursor:not([data-event="${all}"])`).waitFor();
  assert.ok((await cursor(page)) < all);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("search by variable, lock, function and thread", async () => {
  cpSync(join(project, "examples/bank.std"), join(work, "bank.std"));
  const server = await serve("bank.std", "--check", "atomicity,atomic-sets");
  const page = await open(server);
  const text = run(["trace", "cat", join(work, "bank.std")]).trimEnd().split("\n");
  const numbers = (part) => text.flatMap((line, i) => (line.includes(part) ? [i + 1] : []));
  const search = async (what, kind) => {
    await page.locator('input[aria-label="Search"]').fill(what);
    await page.locator(".matches li", { hasText: kind }).first().click();
  };
  await search("checking.balance", "variable");
  const places = numbers("(checking.balance)");
  assert.ok(places.length > 1);
  await page.locator(`.rows tr.cursor[data-event="${places[0]}"]`).waitFor();
  await eventually(async () => assert.match(await page.locator(".hit").innerText(), /variable\s+checking\.balance/));
  await page.keyboard.press("n");
  await page.locator(`.rows tr.cursor[data-event="${places[1]}"]`).waitFor();
  await page.keyboard.press("p");
  await page.locator(`.rows tr.cursor[data-event="${places[0]}"]`).waitFor();
  await page.keyboard.press("p");
  await page.getByText("none before").waitFor();
  await search("transfer", "function");
  await page.locator(`.rows tr.cursor[data-event="${numbers("begin(Account::transfer").at(0)}"]`).waitFor();
  const thread = text.at(-1).split("|")[0];
  await search(thread, "thread");
  await page.locator(`.rows tr.cursor[data-event="${numbers(`${thread}|`).at(0)}"]`).waitFor();
  await page.locator('input[aria-label="Search"]').fill("no such name");
  await page.getByText("no name holds that").waitFor();
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  server.child.kill("SIGINT");
  assert.equal(await server.ended, 0);
});

test("from a finding to its place in the run", async () => {
  const json = run(["check", "--format", "json", join(work, "large.syn")]);
  writeFileSync(join(work, "large.json"), json);
  const finding = JSON.parse(json).checks[0].findings[0];
  const server = await serve("large.syn", "--findings", "large.json");
  const page = await open(server);
  await page.locator(".list [role=option]").first().waitFor();
  await page.keyboard.press("j");
  const events = finding.cycle.flatMap((edge) => [edge.from, edge.to]);
  await rangeWhere(page, (from, to) => to - from < 1e5 && events.every((event) => event >= from && event <= to));
  assert.ok((await page.locator(".detail h2").innerText()).length > 5);
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(pictures, "explore-finding.png") });
  await page.getByRole("tab", { name: "Events" }).click();
  await page.locator(".rows tr.marked").first().waitFor();
  const sites = finding.sites.map((site) => site.event);
  assert.ok(sites.includes(Number(await page.locator(".rows tr.marked").first().getAttribute("data-event"))));
  await page.screenshot({ path: join(pictures, "explore-finding-events.png") });
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  server.child.kill("SIGTERM");
  assert.equal(await server.ended, 0);
});

test("light and dark, and a phone", async () => {
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const page = await open(large, { colorScheme: "dark" });
  assert.notEqual(await ground(page), "rgb(255, 255, 255)");
  await page.waitForTimeout(300);
  await page.screenshot({ path: join(pictures, "explore-dark.png") });
  await page.locator('[aria-label^="Colours"]').click();
  await page.waitForFunction(() => getComputedStyle(document.body).backgroundColor === "rgb(255, 255, 255)");
  await page.context().close();
  const phone = await open(large, { viewport: { width: 390, height: 760 }, hasTouch: true, isMobile: true });
  await phone.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
  await phone.waitForTimeout(300);
  await phone.screenshot({ path: join(pictures, "explore-phone.png") });
  await phone.context().close();
});

test("hostile names are shown as text", async () => {
  const evil = '<img src=x onerror="alert(1)"></script><svg onload=alert(2)>';
  writeFileSync(join(work, "hostile.std"), `${evil}|begin(${evil})|${evil}\n${evil}|w(${evil})|${evil}\nT2|w(${evil})|0\n${evil}|r(${evil})|${evil}\n${evil}|end(${evil})|0\n`);
  const server = await serve("hostile.std");
  const page = await open(server);
  await page.locator(".list [role=option]").first().click();
  await page.locator(".detail h2").waitFor();
  await page.getByRole("tab", { name: "Events" }).click();
  await page.locator('input[aria-label="Search"]').fill("img");
  await page.locator(".matches li", { hasText: "onerror" }).first().waitFor();
  await eventually(async () => assert.ok((await page.locator("body").innerText()).includes(evil)));
  assert.equal(await page.locator("img, svg[onload], iframe").count(), 0);
  await page.screenshot({ path: join(pictures, "explore-hostile.png") });
  assert.deepEqual(page.wrong, []);
  await page.context().close();
  server.child.kill("SIGINT");
  await server.ended;
});

test("without the token there is nothing, and when the server has ended the page says so", async () => {
  const server = await serve("large.syn", "--no-check");
  const { origin } = new URL(server.address);
  for (const path of ["/", "/api/trace", `/${"0".repeat(32)}/`]) assert.equal((await fetch(origin + path)).status, 403, path);
  assert.equal((await fetch(server.address, { method: "POST" })).status, 405);
  assert.equal((await fetch(`${server.address}api/trace`)).status, 200);
  const page = await open(server);
  server.child.kill("SIGINT");
  assert.equal(await server.ended, 0);
  await page.keyboard.press("+");
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /does not answer/);
  await page.context().close();
});
