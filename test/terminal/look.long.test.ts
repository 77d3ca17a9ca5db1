/**
 * How a conversation is shown, by `ui.theme` and `ui.screenReader` of the configuration, in a pseudo-terminal.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorld, type World } from "../cli/pawl.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

/** What moves the cursor, erases, or colors. */
const controls = /\x1b\[/;
const colours = /\x1b\[[\d;]*m/;

/** The environment with a `pawl.config.json` of the person. */
function ownFile(world: World, text: string): { readonly XDG_CONFIG_HOME: string } {
  const folder = join(world.home, "config");
  mkdirSync(join(folder, "pawl"), { recursive: true });
  writeFileSync(join(folder, "pawl", "pawl.config.json"), text);
  return { XDG_CONFIG_HOME: folder };
}

describe("ui.theme", verifies("CHAT-4#settings"), () => {
  test("none: nothing is coloured, from the first frame on, also in other commands", async () => {
    const world = createWorld();
    const env = ownFile(world, '{ /* plain */ "ui": { "theme": "none" }, }');
    const person = openPawl(world, ["--model", "demo"], { env });
    await person.sees("ready");
    expect(person.bytes()).toContain("starting…");
    person.type("/help\r");
    await person.sees("pawl --screen-reader");
    expect(person.bytes()).not.toMatch(colours);
    const run = (options: { readonly env: Readonly<Record<string, string>> }) =>
      world.startOnTerminal(["run", "--model", "demo", "List the files"], options).ended;
    expect((await run({ env })).stdout).not.toMatch(colours);
    expect((await run({ env: {} })).stdout).toMatch(colours);
  });

  test("auto: coloured, and by the person's file for the folder not any more once that is read", async () => {
    const world = createWorld();
    const auto = openPawl(world, ["--model", "demo"], { env: ownFile(world, '{ "ui": { "theme": "auto" } }') });
    await auto.sees("ready");
    expect(auto.bytes()).toMatch(colours);
    auto.kill("SIGKILL");
    await auto.ended;
    expect((await world.pawl(["config", "set", "ui.theme", "none", "--project"])).code).toBe(0);
    const none = openPawl(world, ["--model", "demo"]);
    await none.sees("ready");
    none.type("/status\r");
    await none.sees(/version +\d/);
    const sent = none.bytes();
    const [first = "", ...later] = sent.split(/(?=Pawl )/);
    expect(first).toMatch(colours);
    expect(later.join("")).not.toMatch(colours);
  });
});

describe("ui.screenReader", verifies("CHAT-4#settings", "CHAT-1#plain"), () => {
  test("only appends, without a single sequence; --no-screen-reader is stronger", async () => {
    const world = createWorld();
    const env = ownFile(world, '{ "ui": { "screenReader": true } }');
    const plain = openPawl(world, ["--model", "demo"], { env });
    await plain.sees("Ready. Type a message and press Enter.");
    expect(plain.bytes()).not.toMatch(controls);
    plain.type("/quit\r");
    expect(await plain.ended).toMatchObject({ code: 0 });
    const live = openPawl(world, ["--no-screen-reader", "--model", "demo"], { env });
    await live.sees(/\nready/);
    expect(live.bytes()).toMatch(controls);
    expect(live.bytes()).toContain("starting…");
  });

  test("of the person's file for the folder counts once it is read, and what was typed before is sent", async () => {
    const world = createWorld();
    expect((await world.pawl(["config", "set", "ui.screenReader", "true", "--project"])).code).toBe(0);
    const person = openPawl(world, ["--model", "demo"]);
    await person.sees("starting…");
    person.type("List the files\r");
    await person.sees(/You: List the files[\s\S]*Tool, done: list_files[\s\S]*Ready\./);
    const behind = person.bytes().slice(person.bytes().indexOf("You: List the files"));
    expect(behind).not.toMatch(controls);
  });

  test("of a folder counts only once it is trusted", async () => {
    const world = createWorld({ "pawl.config.json": '{ "ui": { "screenReader": true } }' });
    const before = openPawl(world, ["--model", "demo"]);
    await before.sees(/decides whether the conversation has a live screen: true[\s\S]*trust ›/);
    before.kill("SIGKILL");
    const { hash } = JSON.parse((await world.pawl(["trust", "--show", "--json"])).stdout);
    expect((await world.pawl(["trust", "--hash", hash])).code).toBe(0);
    const after = openPawl(world, ["--model", "demo"]);
    await after.sees("Ready. Type a message and press Enter.");
  });

  test("of a file that cannot be used is told, and nothing was drawn before", async () => {
    const world = createWorld();
    const env = ownFile(world, '{ "ui": { "screenReader": "yes" } }');
    const person = openPawl(world, ["--model", "demo"], { env });
    expect(await person.ended).toMatchObject({ code: 2 });
    expect((await person.screen()).replace(/\s+/g, "")).toContain("ui.screenReadermustbetrueorfalse");
    expect(person.bytes()).not.toContain("starting…");
  });
});
