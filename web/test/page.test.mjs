// The page in a real browser: Debian's chromium, without a screen, through playwright-core.
//
//   SYNDROME=path/to/syndrome OUT=folder-for-pictures node --test test/
//
// `make test-web` installs what this needs and runs it.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { eventually, launch, newPage, project, run } from "../browser.mjs";

const pictures = resolve(process.env.OUT ?? join(project, "build/web-pictures"));
const work = mkdtempSync(join(tmpdir(), "syndrome-web-"));
let browser;

before(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
});

/** A page from findings in the JSON of contract.md. */
function pageOf(name, reports) {
  const json = join(work, `${name}.json`);
  const html = join(work, `${name}.html`);
  writeFileSync(json, JSON.stringify(reports));
  run(["report", json, "--format", "html", "-o", html]);
  return html;
}

/** Opens a file. Whatever the page asks the network for, and whatever goes wrong in it, is an error. */
async function open(file, options = {}) {
  const page = await newPage(browser, "file:", options);
  const began = performance.now();
  await page.goto(`file://${file}`);
  await page.locator(".detail h2, .nothing").first().waitFor({ state: "attached" });
  page.took = performance.now() - began;
  return page;
}

const rows = (page) => page.locator(".list [role=option]");
const heading = (page) => page.locator(".detail h2").innerText();
const rowsAre = (page, count) => eventually(async () => assert.equal(await rows(page).count(), count));
const headingIs = (page, words) => eventually(async () => assert.match(await heading(page), words));

let found = "";
function bank() {
  found ||= run(["check", "--check", "atomicity,races,atomic-sets", "--format", "json", "--stats", "examples/bank.std"]);
  return JSON.parse(found);
}

test("a finding of the example: the picture, the words, the source", async () => {
  const page = await open(pageOf("bank", bank()));
  assert.equal(await heading(page), "Account::transfer is not atomic");
  const names = await page.locator(".lane-name").allInnerTexts();
  assert.equal(names.length, 2, "a lane for each thread");
  assert.equal(await page.locator(".arrow.cycle").count(), 2);
  // Time runs downwards, whichever lane an event is in.
  const tops = await page.locator(".lanes [data-event]").evaluateAll((all) =>
    all.map((each) => [Number(each.dataset.event), each.getBoundingClientRect().top]),
  );
  assert.ok(tops.length >= 3);
  for (let i = 1; i < tops.length; i++) {
    assert.ok(tops[i][0] > tops[i - 1][0] && tops[i][1] > tops[i - 1][1], JSON.stringify(tops));
  }
  assert.match(await page.locator(".conclusion").innerText(), /would have to come before itself/);
  assert.match(await page.locator(".fix").innerText(), /Hold/);
  assert.match(await page.locator(".command code").innerText(), /^syndrome trace cat --number --around \d+ examples\/bank.std$/);
  assert.ok((await page.locator(".card .source .here").count()) > 0, "source lines");
  await page.screenshot({ path: join(pictures, "bank-light.png"), fullPage: true });
  await page.locator(".pictures").screenshot({ path: join(pictures, "bank-picture.png") });
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("following an arrow leads to the event that it points to", async () => {
  const page = await open(pageOf("bank", bank()));
  const to = bank().checks[0].findings[0].cycle[0].to;
  await page.locator('[data-arrow="A"] circle').click();
  await page.locator(`.event.selected[data-event="${to}"]`).waitFor();
  await page.locator(".edges li.chosen .letter", { hasText: "A" }).waitFor();
  await page.locator('[aria-label="follow arrow B"]').focus();
  await page.keyboard.press("Enter");
  await page.locator(".edges li.chosen .letter", { hasText: "B" }).waitFor();
  // An event leads to its source.
  await page.locator(".lanes [data-event]").first().click();
  await eventually(async () => assert.equal(await page.locator(".card.selected").count(), 1));
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("filters and the keyboard", async () => {
  const page = await open(pageOf("bank", bank()));
  const all = await rows(page).count();
  assert.ok(all >= 2, `${all} findings`);
  await page.locator('select[aria-label="Check"]').selectOption("atomic-sets");
  const patterns = bank().checks.find((entry) => entry.check === "atomic-sets").findings.length;
  await rowsAre(page, patterns);
  await headingIs(page, /checking.balance/);
  await page.getByText("Clear").click();
  await rowsAre(page, all);
  await page.keyboard.press("/");
  await page.keyboard.type("transfer atomic");
  await eventually(async () => assert.ok((await rows(page).count()) < all));
  await page.locator('input[type="search"]').fill("no such thing");
  await page.locator(".empty", { hasText: "No finding" }).waitFor();
  await page.locator('input[type="search"]').fill("");
  await rowsAre(page, all);
  await page.keyboard.press("Escape");
  const first = await heading(page);
  await page.keyboard.press("j");
  await page.locator('.row.selected[aria-posinset="2"]').waitFor();
  await page.keyboard.press("k");
  await eventually(async () => assert.equal(await heading(page), first));
  await page.keyboard.press("?");
  await page.locator(".help").waitFor();
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("light and dark", async () => {
  const file = pageOf("bank", bank());
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await open(file, { colorScheme: "light" });
  assert.equal(await ground(light), "rgb(255, 255, 255)");
  await light.locator('[aria-label^="Colours"]').click();
  await eventually(async () => assert.notEqual(await ground(light), "rgb(255, 255, 255)"));
  await light.context().close();
  const dark = await open(file, { colorScheme: "dark" });
  assert.notEqual(await ground(dark), "rgb(255, 255, 255)");
  await dark.screenshot({ path: join(pictures, "bank-dark.png") });
  await dark.context().close();
});

test("on a phone nothing sticks out", async () => {
  const page = await open(pageOf("bank", bank()), { viewport: { width: 375, height: 740 }, hasTouch: true, isMobile: true });
  await page.screenshot({ path: join(pictures, "phone-list.png") });
  await rows(page).first().click();
  await page.locator(".lanes").waitFor();
  await page.screenshot({ path: join(pictures, "phone-finding.png") });
  await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
  await page.locator(".back").click();
  await rows(page).first().waitFor();
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("hostile names are shown as text", async () => {
  const evil = '</script><img src=x onerror="alert(1)"><svg onload=alert(2)>';
  const text = JSON.stringify(bank())
    .replaceAll("Account::transfer", JSON.stringify(evil).slice(1, -1))
    .replaceAll("bank.cc", JSON.stringify(`b${evil}.cc`).slice(1, -1))
    .replaceAll('"message":"', `"message":"${JSON.stringify(evil).slice(1, -1)}`);
  const page = await open(pageOf("hostile", JSON.parse(text)));
  assert.ok((await page.locator("body").innerText()).includes(evil));
  assert.equal(await page.locator("img, svg[onload], iframe").count(), 0);
  await page.screenshot({ path: join(pictures, "hostile.png") });
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("the observed and the predicted order stand side by side", async () => {
  const site = (event, thread, op, target, line) => ({ event, thread, op, target, file: "cell.cc", line, function: "work" });
  const report = {
    version: 1,
    tool: { name: "syndrome", version: "0.1.0" },
    trace: { file: "cell.std", events: 6, threads: 2, variables: 1, locks: 0, blocks: 0 },
    checks: [
      {
        check: "nondeterminism",
        verdict: "violated",
        seconds: 0.1,
        findings: [
          {
            check: "nondeterminism",
            rule: "nondeterministic-read",
            certainty: "predicted",
            message: "read of cell is nondeterministic",
            event: 5,
            fingerprint: "feed",
            variable: "cell",
            read: 5,
            write: 3,
            challenger: 2,
            schedule: [1, 3, 2, 5],
            sites: [site(2, "T1", "write", "cell", 4), site(3, "T2", "write", "cell", 9), site(5, "T2", "read", "cell", 10)].map((each) => ({ ...each, op: each.op === "write" ? "w" : "r" })),
          },
        ],
      },
    ],
  };
  const page = await open(pageOf("cell", report));
  assert.deepEqual(await page.locator("figcaption.title").allInnerTexts(), ["As it ran", "As it could run"]);
  const order = (n) => page.locator("figure").nth(n).locator("[data-event]").evaluateAll((all) => all.map((each) => Number(each.dataset.event)));
  assert.deepEqual(await order(0), [2, 3, 5]);
  assert.deepEqual(await order(1), [3, 2, 5]);
  assert.match(await page.locator("figure").nth(1).innerText(), /reads what event 2 wrote/);
  await page.screenshot({ path: join(pictures, "predicted.png") });
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("the letters of arrows that cross can be read", async () => {
  const report = bank();
  const place = (line) => ({ file: "cell.cc", line, function: "add" });
  const site = (event, thread, op, block, line) => ({ event, thread, op, target: "cell", block, ...place(line) });
  report.checks = [{ ...report.checks[0], findings: [{ ...report.checks[0].findings[0], block: 1, event: 6, cycle: [{ from: 3, to: 6 }, { from: 4, to: 5 }],
    sites: [site(3, "T1", "r", 1, 4), site(4, "T2", "r", 2, 4), site(5, "T1", "w", 1, 5), site(6, "T2", "w", 2, 5)],
    blocks: [{ begin: 1, end: 7, thread: "T1", label: "add", ...place(3) }, { begin: 2, end: 8, thread: "T2", label: "add", ...place(3) }], threads: [] }] }];
  const page = await open(pageOf("cross", report));
  const [a, b] = await page.locator(".arrow circle").evaluateAll((all) => all.map((each) => [each.cx.baseVal.value, each.cy.baseVal.value]));
  assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1]) > 19, `${a} and ${b}`);
  await page.locator(".pictures").screenshot({ path: join(pictures, "cross.png") });
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

/** The bank's finding, `n` times, as if in as many functions. */
function manyFindings(n) {
  const report = bank();
  const [one] = report.checks[0].findings;
  report.checks = [report.checks[0]];
  report.checks[0].findings = Array.from({ length: n }, (_, i) => {
    const text = JSON.stringify(one).replaceAll("Account::transfer", `Account::transfer_${i}`);
    return { ...JSON.parse(text), fingerprint: `f${i}` };
  });
  return report;
}

test("a thousand findings: under 3 MB", async () => {
  const file = pageOf("thousand", manyFindings(1000));
  assert.ok(statSync(file).size < 3e6, `${statSync(file).size} bytes`);
  const page = await open(file);
  console.log(`1,000 findings: ${statSync(file).size} bytes, interactive in ${Math.round(page.took)} ms`);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("ten thousand findings: only what is seen is in the page", async () => {
  const page = await open(pageOf("tenthousand", manyFindings(10000)));
  assert.match(await page.locator(".count").innerText(), /10,000 findings/);
  assert.ok((await rows(page).count()) < 60, "only what is seen is in the page");
  const slowest = await page.evaluate(async () => {
    const list = document.querySelector(".list");
    let worst = 0;
    let last = performance.now();
    for (let i = 1; i <= 60; i++) {
      list.scrollTop = (list.scrollHeight * i) / 60;
      await new Promise((next) => requestAnimationFrame(next));
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
    }
    return worst;
  });
  console.log(`10,000 findings: open in ${Math.round(page.took)} ms, slowest frame ${Math.round(slowest)} ms`);
  await rows(page).last().filter({ hasText: "transfer_9999" }).waitFor();
  await page.locator('input[type="search"]').fill("transfer_7777");
  await page.waitForFunction(() => document.querySelectorAll(".list [role=option]").length === 1);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("a clean report says what it does not prove", async () => {
  const report = bank();
  for (const entry of report.checks) Object.assign(entry, { findings: [], verdict: "clean" });
  const page = await open(pageOf("clean", report));
  assert.match(await page.locator(".nothing").innerText(), /Nothing was found[^]*another schedule/);
  assert.deepEqual(page.wrong, []);
  await page.context().close();
});

test("the page that is kept is the one that the program carries", () => {
  const kept = readFileSync(join(project, "web/dist/report.html"), "utf8");
  const made = readFileSync(pageOf("bank", bank()), "utf8");
  const [before, behind] = kept.split("SYNDROME-REPORTS");
  assert.ok(made.startsWith(before) && made.endsWith(behind));
  assert.ok(kept.length < 100_000, "it is small");
});
