/**
 * Builds examples/chat and uses it in Chromium, as a person would: npm run chat
 *
 *     npm run chat -- --pictures FOLDER     also takes pictures of the page, light and dark, narrow and wide
 *
 * The model is a server of this script, so that it stops in the middle of an answer for as long as a step needs. The server
 * of the page is a process of its own, which is killed with SIGKILL. Nothing here waits for a time to pass.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startModelServer } from "./chat/model-server.mjs";
import { startPageServer } from "./chat/page-server.mjs";
import { chromium } from "./chromium.mjs";
import { installOnDemand } from "./install-on-demand.mjs";

const { values } = parseArgs({
  options: { pictures: { type: "string" }, folder: { type: "string", default: "examples/chat" } },
});
const folder = resolve(values.folder);
const timeout = 20_000;
/** An answer that waits in the middle. */
const halves = ["The first half of a long answer, with many words so that they are shown, and then ", "the end of it."];

installOnDemand(
  "scripts/checks",
  "what only checks and long tests need into scripts/checks/node_modules (about 150 MB)",
);
// A copy elsewhere has its packages: scripts/next-majors.mjs.
if (folder === resolve("examples/chat")) installOnDemand(folder, "the packages of examples/chat");
const types = npm("types");
await npm("build");

const { chromium: playwright } = createRequire(resolve("scripts/checks/package.json"))("playwright-core");
const browser = await playwright.launch({ executablePath: chromium(), args: ["--no-sandbox", "--disable-gpu"] });
const model = await startModelServer();
const data = mkdtempSync(join(tmpdir(), "pawl-chat-"));
const environment = { CHAT_DATA: data, HOME: data, OPENAI_BASE_URL: model.url, PUBLISH_AFTER: "3600" };
const server = await startPageServer(folder, environment);
let passed = 0;
try {
  await types;
  await step("the demo model works without a key, and asks before it writes", withDemoModel);
  await step("an edited call runs as edited, and a denied one does not run", editAndDeny);
  await step("a reload in the middle of an answer gives the whole message", reloadInMidStream);
  await step("a killed server costs a page nothing", killInMidStream);
  await step("after a crash, a person says whether a call in doubt runs again", callInDoubt);
  await step("two tabs show the same, and one answers for both", twoTabs);
  await step("a form stays as it is while another tab answers", formStays);
  await step("messages that come late hide nothing that came since", lateMessages);
  await step("a tool asks, and the answer is a choice", question);
  await step("a failure is told, also after a reload, and a run is stopped", failureAndStop);
} finally {
  await browser.close();
  await server.kill();
  model.close();
  rmSync(data, { recursive: true, force: true });
}
console.log(`examples/chat in Chromium: ${passed} passed.`);

async function step(name, act) {
  const startedAt = performance.now();
  const context = await browser.newContext();
  context.setDefaultTimeout(timeout);
  const problems = [];
  context.on("weberror", (error) => problems.push(error.error()));
  try {
    await act(context);
    assert.deepEqual(problems, []);
    passed += 1;
    console.log(`passed  ${name}  ${Math.round(performance.now() - startedAt)} ms`);
  } catch (error) {
    for (const page of context.pages()) console.error(await page.locator("body").textContent().catch(String));
    throw new Error(`It failed that ${name}: ${error.message}`, { cause: error });
  } finally {
    await context.close();
  }
}

async function withDemoModel(context) {
  const { PATH: _, ...own } = { ...environment, PAWL_MODEL: "demo", CHAT_DATA: join(data, "demo") };
  const demo = await startPageServer(folder, own);
  try {
    const page = await context.newPage();
    await page.goto(demo.url);
    await picture(page, "welcome");
    await page.getByRole("button", { name: /then write a list/ }).click();
    await button(page, "Approve").waitFor();
    await picture(page, "approval");
    const file = join(data, "demo/notes/FILES.md");
    assert.equal(existsSync(file), false);
    await button(page, "Approve").click();
    const answer = page.locator(".text", { hasText: "I am Pawl's demo model, not an LLM" });
    await answer.waitFor();
    assert.match(readFileSync(file, "utf8"), /garden\.md/);
    const said = await conversation(page);
    await page.reload();
    await answer.waitFor();
    assert.equal(await conversation(page), said);
    await picture(page, "demo");
  } finally {
    await demo.kill();
  }
}

async function editAndDeny(context) {
  const page = await openChat(context);
  const write = (path) => ["write_file", { path, content: "Tulips and roses." }];
  model.say({ text: "I write both.", calls: [write("one.md"), write("two.md")] }, { text: "One was written." });
  await say(page, "Write two notes.");
  const [first, second] = [card(page, 0), card(page, 1)];
  await first.getByRole("button", { name: "Edit" }).click();
  await first.getByRole("textbox", { name: "Edited input" }).fill('{ "path": "edited.md", "content": "Only roses." }');
  await picture(page, "edit");
  await first.getByRole("button", { name: "Approve the edit" }).click();
  // The result of the first is there while the second still waits.
  await first.getByText("done", { exact: true }).waitFor();
  await second.getByRole("button", { name: "Deny" }).click();
  await page.getByText("One was written.").waitFor();
  await second.getByText("denied", { exact: true }).waitFor();
  assert.equal(readFileSync(join(data, "notes/edited.md"), "utf8"), "Only roses.");
  assert.equal(existsSync(join(data, "notes/one.md")) || existsSync(join(data, "notes/two.md")), false);
  await picture(page, "denied");
}

async function reloadInMidStream(context) {
  const page = await openChat(context);
  model.say({ text: halves });
  await say(page, "Tell me.");
  await page.getByText("The first half of a long answer").waitFor();
  await page.reload();
  await page.getByText("The first half of a long answer").waitFor();
  model.goOn();
  await page.getByText("the end of it.").waitFor();
  await ready(page);
  assert.equal(await conversation(page), `Tell me.\n${halves.join("")}`);
}

async function killInMidStream(context) {
  const page = await openChat(context);
  const waiting = await openChat(context);
  model.say({ text: halves });
  await say(page, "Tell me.");
  await page.getByText("The first half of a long answer").waitFor();
  await server.kill();
  await page.getByText("The connection is lost.").waitFor();
  await picture(page, "lost");
  model.say({ text: halves });
  await server.startAgain();
  // Without a reload, and with one.
  await page.getByText("The connection is lost.").waitFor({ state: "hidden" });
  await page.getByText("The first half of a long answer").waitFor();
  await page.reload();
  await page.getByText("The first half of a long answer").waitFor();
  // The first of the two belongs to the killed process.
  model.goOn();
  model.goOn();
  await page.getByText("the end of it.").waitFor();
  await ready(page);
  assert.equal(await conversation(page), `Tell me.\n${halves.join("")}`);
  await waiting.close();
}

async function callInDoubt(context) {
  const page = await openChat(context);
  model.say({ text: "I publish it.", calls: [["publish", { note: "garden.md" }]] });
  await say(page, "Publish the garden.");
  await button(page, "Approve").click();
  await page.getByText("On the board in 3600 s.").waitFor();
  // The page knows this tool by type, and so the name of the note.
  await page.getByText("publish garden.md").waitFor();
  await picture(page, "running");
  await server.kill();
  model.say({ text: "It is published." });
  await server.startAgain({ PUBLISH_AFTER: "0" });
  await page.reload();
  await page.getByText("nobody knows whether it was done").waitFor();
  await page.getByText("publish garden.md").waitFor();
  await picture(page, "doubt");
  await button(page, "Run it again").click();
  await page.getByText("It is published.").waitFor();
  assert.equal(readFileSync(join(data, "board.md"), "utf8").match(/Plant the tulips/g)?.length, 1);
}

async function twoTabs(context) {
  const page = await openChat(context);
  const other = await context.newPage();
  await other.goto(page.url());
  await other.getByText("An agent looks after a folder").waitFor();
  model.say({ text: halves, calls: [["write_file", { path: "three.md", content: "Three." }]] }, { text: "Then not." });
  await say(page, "Write the third note.");
  await page.getByText("The first half of a long answer").waitFor();
  await other.getByText("The first half of a long answer").waitFor();
  model.goOn();
  await button(page, "Deny").waitFor();
  await button(other, "Deny").click();
  for (const one of [page, other]) {
    await one.getByText("Then not.").waitFor();
    await ready(one);
  }
  assert.equal(await conversation(page), await conversation(other));
}

/** Another tab answers one call while a person edits the other. */
async function formStays(context) {
  const page = await openChat(context);
  const other = await context.newPage();
  const write = (path) => ["write_file", { path, content: "Peas." }];
  model.say({ text: "I write both.", calls: [write("four.md"), write("five.md")] }, { text: "One was written." });
  await say(page, "Write two notes.");
  const edited = card(page, 0).getByRole("textbox", { name: "Edited input" });
  await card(page, 0).getByRole("button", { name: "Edit" }).click();
  await edited.fill('{ "path": "peas.md", "content": "Peas." }');
  await other.goto(page.url());
  await card(other, 1).getByRole("button", { name: "Deny" }).click();
  await page.bringToFront();
  await card(page, 1).getByText("denied", { exact: true }).waitFor();
  assert.equal(await edited.inputValue(), '{ "path": "peas.md", "content": "Peas." }');
  await button(page, "Approve the edit").click();
  for (const one of [page, other]) await one.getByText("One was written.").waitFor();
  assert.equal(readFileSync(join(data, "notes/peas.md"), "utf8"), "Peas.");
}

/** An answer is given and followed while the page still loads what was before it. */
async function lateMessages(context) {
  const page = await openChat(context);
  model.say({ text: halves, calls: [["write_file", { path: "six.md", content: "Six." }]] }, { text: "Then not." });
  await say(page, "Write the sixth note.");
  await page.getByText("The first half of a long answer").waitFor();
  await page.reload();
  await page.getByText("The first half of a long answer").waitFor();
  // The page has joined the run. When that waits, it loads the messages once more.
  const late = holdNext(page, "**/messages");
  model.goOn();
  const { request, release } = await late;
  await button(page, "Deny").click();
  await page.getByText("Then not.").waitFor();
  await ready(page);
  const said = await conversation(page);
  const arrived = page.waitForEvent("requestfinished", (finished) => finished === request);
  await release();
  await arrived;
  await page.evaluate(() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))));
  assert.equal(await conversation(page), said);
}

/** Fetches the next response from this address, and holds it until it is released. */
function holdNext(page, address) {
  return new Promise((resolve, reject) => {
    const hold = async (route) => {
      const response = await route.fetch();
      resolve({ request: route.request(), release: () => route.fulfill({ response }) });
    };
    page.route(address, hold, { times: 1 }).catch(reject);
  });
}

async function question(context) {
  const page = await openChat(context);
  const options = ["Friday", "Saturday"];
  model.say({ calls: [["ask_person", { question: "On which day?", options }]] }, { text: "So be it." });
  await say(page, "Plan the journey.");
  await picture(page, "question");
  await button(page, "Saturday").click();
  await page.getByText("So be it.").waitFor();
  assert.match(await card(page, 0).textContent(), /done/);
}

async function failureAndStop(context) {
  const page = await openChat(context);
  model.say({ status: 400, message: "This model takes no such request." });
  await say(page, "Fail.");
  await page.getByText("The run failed:").waitFor();
  await page.reload();
  await page.getByText("This model takes no such request.").waitFor();
  await picture(page, "failed");
  model.say({ text: halves });
  await say(page, "Tell me.");
  await page.getByText("The first half of a long answer").waitFor();
  await button(page, "Stop").click();
  await page.getByText("Stopped.").waitFor();
  model.goOn();
}

async function openChat(context) {
  const page = await context.newPage();
  await page.goto(server.url);
  await page.getByText("An agent looks after a folder").waitFor();
  return page;
}

async function say(page, text) {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await button(page, "Send").click();
}

function button(page, name) {
  return page.getByRole("button", { name, exact: true });
}

function card(page, index) {
  return page.locator(".call").nth(index);
}

/** The run is over: the page can send the next message. */
function ready(page) {
  return button(page, "Send").waitFor();
}

async function conversation(page) {
  const texts = await page.locator("article").allInnerTexts();
  return texts.join("\n");
}

async function picture(page, name) {
  if (values.pictures === undefined) return;
  mkdirSync(values.pictures, { recursive: true });
  for (const colorScheme of ["light", "dark"])
    for (const width of [400, 1200]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 760 });
      await page.screenshot({ path: join(values.pictures, `${name}-${colorScheme}-${width}.png`) });
    }
}

/** Fails with what the script says. */
function npm(script) {
  return new Promise((resolve, reject) => {
    const child = spawn("npm", ["run", "--silent", script], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve() : reject(new Error(`npm run ${script} failed in examples/chat:\n${output}`)),
    );
  });
}
