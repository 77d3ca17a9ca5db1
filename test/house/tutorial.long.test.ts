/**
 * The tutorial as a reader does it: in a new folder, with the package as npm installs it. The commands run in the order of the
 * page, the files are those of the page, and the outputs must be those of the page. Chromium is the phone and the customer.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openBrowser, type Page } from "../inspector/browser.js";
import { waitUntil } from "../processes/rig.js";
import { freePorts } from "../support/restate.js";

type Part =
  | { readonly type: "file"; readonly path: string; readonly text: string; readonly isChange: boolean }
  | { readonly type: "commands"; readonly text: string; readonly output: string; readonly isBackground: boolean }
  | { readonly type: "action"; readonly name: string };

/** The files, commands and outputs of the page, in order. A block of TypeScript without a name is none of them. */
function partsOf(page: string): readonly Part[] {
  const parts: Part[] = [];
  let isBackground = false;
  for (const [, name, language, path, text = ""] of page.matchAll(
    /^<!-- test: (.+) -->$|^```(\w+)(?: \[(.+)\])?\n([\s\S]*?)^```$/gm,
  )) {
    const last = parts.at(-1);
    if (name === "background") isBackground = true;
    else if (name !== undefined) parts.push({ type: "action", name });
    else if (path !== undefined) parts.push({ type: "file", path, text, isChange: language === "diff" });
    else if (language === "sh") {
      parts.push({ type: "commands", text, output: "", isBackground });
      isBackground = false;
    } else if (language === "text" && last?.type === "commands")
      parts.splice(-1, 1, { ...last, output: last.output + text });
  }
  return parts;
}

/** A file after a block of changes, whose places are separated by `@@`. */
function changed(file: string, change: string): string {
  return change.split("@@\n").reduce((text, place) => {
    const lines = place.split("\n").filter((line) => line !== "");
    const side = (sign: string) =>
      lines.filter((line) => /^[ ]/.test(line) || line.startsWith(sign)).map((line) => line.slice(1));
    const before = side("-").join("\n");
    expect(text.split(before), `the page changes ${before}`).toHaveLength(2);
    return text.replace(before, () => side("+").join("\n"));
  }, file);
}

/** The folder of a reader, and what runs in it. */
async function createDesk() {
  const folder = mkdtempSync(join(tmpdir(), "pawl-tutorial-"));
  const ports = (await freePorts(2)).map(String);
  const [port = "", second = ""] = ports;
  const running: ChildProcess[] = [];
  let said = "";
  onTestFinished(() => {
    for (const child of running) if (child.exitCode === null && child.pid !== undefined) kill(child.pid);
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
  const packed = spawnSync("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
    encoding: "utf8",
  });
  const tarball = join(folder, JSON.parse(packed.stdout)[0].filename);
  const { PATH, HOME } = process.env;
  const quiet = { npm_config_audit: "false", npm_config_fund: "false", npm_config_prefer_offline: "true" };
  const options = { cwd: folder, env: { PATH, HOME, PORT: port, NODE_NO_WARNINGS: "1", ...quiet } };
  const own = (command: string) =>
    command.replace("npm install pawl", `npm install ${tarball}`).replaceAll("4112", second);
  const asOnPage = (output: string) =>
    output
      .replaceAll(`:${port}`, ":4111")
      .replaceAll(`:${second}`, ":4112")
      .replace(/#start=[\w-]+/g, "#start=CODE");

  function run(command: string): string {
    const { status, stdout, stderr } = spawnSync("bash", ["-ec", own(command)], { ...options, encoding: "utf8" });
    expect(status, `${command}\n${stdout}${stderr}`).toBe(0);
    return asOnPage(stdout);
  }

  /** Starts a program, and waits until it has said these lines. */
  async function start(command: string, lines: readonly string[]): Promise<void> {
    const child = spawn("bash", ["-c", `exec env ${own(command)}`], { ...options, detached: true });
    running.push(child);
    said = "";
    const hear = (chunk: Buffer) => {
      said += String(chunk);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    await waitUntil(
      async () => lines.every((line) => asOnPage(said).includes(line)),
      `${command} does not say ${lines}`,
    );
  }

  return {
    folder,
    url: `http://127.0.0.1:${port}`,
    run,
    start,
    said: () => said,
    read: (path: string) => readFileSync(join(folder, path), "utf8"),
    write(path: string, text: string) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
  };
}

function kill(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** What a person does on the phone and on the page. */
async function createPeople(desk: Awaited<ReturnType<typeof createDesk>>) {
  const browser = await openBrowser();
  const open = async (url: string, viewport: { readonly width: number; readonly height: number }): Promise<Page> => {
    const context = await browser.newContext({ viewport });
    context.setDefaultTimeout(30_000);
    const page = await context.newPage();
    await page.goto(url);
    return page;
  };
  let phone: Page | null = null;
  let page: Page | null = null;
  async function approve(order: string): Promise<void> {
    const link = /http:\S+#start=[\w-]+/.exec(desk.said())?.[0] ?? "";
    phone ??= await open(link, { width: 390, height: 844 });
    await phone.getByRole("link", { name: /^Approvals/ }).click();
    await phone
      .getByRole("option", { name: new RegExp(`order ${order}`) })
      .first()
      .click();
    await phone.getByRole("button", { name: /^Approve/ }).click();
    await phone
      .getByText(/^Nothing is waiting/)
      .first()
      .waitFor();
  }
  async function write(text: string): Promise<Page> {
    page ??= await open(`${desk.url}/shop/`, { width: 1_000, height: 700 });
    await page.getByRole("textbox", { name: "Message" }).fill(text);
    await page.getByRole("button", { name: "Send" }).click();
    return page;
  }
  const booked = (order: string) =>
    waitUntil(async () => desk.read("refunds.txt").includes(`order ${order}`), `order ${order} is not refunded`);
  const actions: { readonly [name: string]: () => Promise<void> } = {
    async "the phone approves"() {
      await approve("1044");
      await booked("1044");
    },
    async "the page asks, and the phone approves"() {
      const shop = await write("Please refund 70 euros of order 1045");
      await shop.getByText("A colleague is looking at it").waitFor();
      await approve("1045");
      await shop.getByText("It is refunded.").waitFor();
      await booked("1045");
    },
    async "the page asks again"() {
      await write("Please refund 20 euros of order 1046");
      await waitUntil(async () => desk.said().includes("of order 1046"), "the refund does not begin");
    },
    async "the page goes on"() {
      await page?.getByText("It is refunded.").nth(1).waitFor();
      expect(await page?.getByText("The connection is lost").count()).toBe(0);
    },
  };
  return actions;
}

test("the tutorial does what it says, from an empty folder to a deployment", { timeout: 600_000 }, async () => {
  const desk = await createDesk();
  const people = await createPeople(desk);
  const parts = partsOf(readFileSync(resolve("docs/guide/tutorial.md"), "utf8"));
  const done = new Set<string>();
  for (const part of parts) {
    switch (part.type) {
      case "file":
        desk.write(part.path, part.isChange ? changed(desk.read(part.path), part.text) : part.text);
        break;
      case "action": {
        const act = people[part.name];
        expect(act, part.name).toBeDefined();
        await act?.();
        done.add(part.name);
        break;
      }
      case "commands":
        if (part.isBackground) await desk.start(part.text.trim(), part.output.trim().split("\n"));
        else if (part.output === "") desk.run(part.text);
        else expect(desk.run(part.text)).toBe(part.output);
    }
  }
  expect([...done]).toEqual(Object.keys(people));
});
