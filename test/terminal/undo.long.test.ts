/**
 * `/undo` and `/redo` in a pseudo-terminal. The model is a local server that answers from a script.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createWorld, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl, type Person } from "./pseudo-terminal.js";

const answer = (text: string) => ({ type: "answer", text }) as const;
const calls = (...list: readonly (readonly [string, Readonly<Record<string, string>>])[]) =>
  ({ type: "answer", calls: list.map(([name, input]) => ({ name, input })) }) as const;

async function working(world: World, script: Script) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const env = { OPENAI_BASE_URL: server.baseURL };
  const args = ["--model", "openai-compatible/test", "--yes"];
  const person = openPawl(world, args, { env, rows: 40 });
  await person.sees("ready");
  const again = async (): Promise<Person> => {
    const next = openPawl(world, [...args, "--continue"], { env, rows: 40 });
    await next.sees("ready");
    return next;
  };
  return { person, again, sent: (at: number) => JSON.stringify(server.requests[at]?.body.messages) };
}

const script: Script = [
  calls(
    ["write_file", { path: "new.txt", content: "created\n" }],
    ["edit_file", { path: "a.txt", oldText: "one", newText: "1" }],
    ["edit_file", { path: "b.txt", oldText: "bee", newText: "B" }],
  ),
  answer("All changed."),
  answer("I know."),
];

test(
  "takes back what the last run wrote, leaves what somebody else has changed, and goes forward again",
  verifies("CHAT-3#undo"),
  async () => {
    const world = createWorld({ "a.txt": "one\ntwo\n", "b.txt": "bee\n" });
    const text = (path: string) => readFileSync(join(world.root, path), "utf8");
    const { person, sent } = await working(world, script);
    person.type("/undo\r");
    await person.sees("There is nothing to undo");
    person.type("change them\r");
    await person.sees(/All changed\.[\s\S]*ready/);
    writeFileSync(join(world.root, "b.txt"), "B and mine\n");
    person.type("/undo\r");
    const shown = await person.sees(/undo ›[\s\S]*› leave everything as it is/);
    expect(shown).toMatch(/new\.txt goes away/);
    expect(shown).toMatch(/a\.txt changes\n +1 - 1\n +1 \+ one/);
    expect(shown).toMatch(/b\.txt changes · changed since then/);
    person.type("\r");
    await person.sees("No file was changed.");
    expect(text("a.txt")).toBe("1\ntwo\n");
    person.type("/undo\r");
    await person.sees(/undo ›/);
    person.type("n");
    await person.sees(/No file was changed\.[\s\S]*No file was changed\./);
    expect(text("a.txt")).toBe("1\ntwo\n");
    person.type("/undo\r");
    await person.sees(/undo ›[\s\S]*undo 2 files, none with a conflict \(y\)/);
    person.type("y");
    await person.sees(/Undid changes to 2 files: .*[\s\S]*ready/);
    expect([text("a.txt"), text("b.txt"), existsSync(join(world.root, "new.txt"))]).toEqual([
      "one\ntwo\n",
      "B and mine\n",
      false,
    ]);
    person.type("/redo\r");
    await person.sees(/redo ›/);
    person.type("\x1b[B\r");
    await person.sees(/Redid changes to 2 files/);
    expect([text("a.txt"), text("new.txt")]).toEqual(["1\ntwo\n", "created\n"]);
    person.type("go on\r");
    await person.sees(/I know\.[\s\S]*ready/);
    expect(sent(2)).toContain("The user has restored your changes of these files");
    expect(sent(2)).toContain("The user has taken back your changes of these files");
  },
);

test("works after a kill, and a file that is back already is no conflict", verifies("CHAT-3#undo"), async () => {
  const world = createWorld({ "a.txt": "one\ntwo\n", "b.txt": "bee\n" });
  const { person, again } = await working(world, script);
  person.type("change them\r");
  await person.sees(/All changed\.[\s\S]*ready/);
  person.kill("SIGKILL");
  await person.ended;
  writeFileSync(join(world.root, "a.txt"), "one\ntwo\n");
  const next = await again();
  next.type("/undo\r");
  await next.sees(/a\.txt .*already done[\s\S]*undo ›/);
  next.type("2 files\r");
  await next.sees(/Undid changes to 2 files/);
  expect(readFileSync(join(world.root, "b.txt"), "utf8")).toBe("bee\n");
  expect(existsSync(join(world.root, "new.txt"))).toBe(false);
});

test("/diff shows what the session changed, and the last run alone", verifies("CHAT-3#undo"), async () => {
  const world = createWorld({ "a.txt": `${"same\n".repeat(20)}one\ntwo\n` });
  const { person } = await working(world, [
    calls(
      ["write_file", { path: "new.txt", content: "created\n" }],
      ["edit_file", { path: "a.txt", oldText: "one", newText: "1" }],
    ),
    answer("First done."),
    calls(["edit_file", { path: "new.txt", oldText: "created", newText: "created twice" }]),
    answer("Second done."),
  ]);
  person.type("/diff\r");
  await person.sees("No file tool has written a file in this session.");
  person.type("first\r");
  await person.sees(/First done\.[\s\S]*ready/);
  person.type("second\r");
  await person.sees(/Second done\.[\s\S]*ready/);
  writeFileSync(join(world.root, "a.txt"), "mine\n");
  person.type("/diff 1\r");
  await person.sees(/ {2}new\.txt has changed · \+1 −1\n +1 - created\n +1 \+ created twice\n.*are not shown\./);
  person.type("/diff\r");
  await person.sees(
    / {2}a\.txt has changed · \+1 −1 · changed since then\n( +\d+ +same\n){3} +21 - one\n +21 \+ 1\n +22 +two\n {2}new\.txt is new · \+1 −0\n +1 \+ created twice\n.*are not shown\./,
  );
});
