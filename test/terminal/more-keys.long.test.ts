/**
 * Keys that look for an earlier message, show the plan, change the mode, and edit a call that is asked about. In a
 * pseudo-terminal, with a local server as the model.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorld } from "../cli/pawl.js";
import { verifies } from "../verifies.js";
import { startConversation } from "./conversation.js";

const answer = (text: string) => ({ type: "answer", text }) as const;
const write = (path: string, content: string) =>
  ({ type: "answer", calls: [{ name: "write_file", input: { path, content } }] }) as const;

test("Ctrl-R searches earlier messages, and Ctrl-T shows the plan", verifies("CHAT-1#keys"), async () => {
  const plan = { items: [{ text: "Mend the door", status: "in_progress" }] };
  const { person } = await startConversation(createWorld(), [
    { type: "answer", calls: [{ name: "todo", input: plan }] },
    answer("One."),
    answer("Two."),
  ]);
  person.type("the blue door\r");
  await person.sees(/One\.[\s\S]*ready/);
  person.type("the red gate\r");
  await person.sees(/Two\.[\s\S]*ready/);
  person.type("\x12");
  await person.sees(/history ›[\s\S]*› the red gate\n +the blue door/);
  person.type("\x12");
  await person.sees(/› the blue door/);
  person.type("door");
  await person.seesNoMore("› the red gate");
  person.type("\r");
  await person.sees(/> the blue door\nready/);
  person.type("\x03\x14");
  await person.sees(/\[>\] Mend the door/);
});

test("Shift+Tab lets edits run without a question, also after a resume", verifies("CHAT-2#keys"), async () => {
  const world = createWorld();
  const { person } = await startConversation(world, [
    write("a", "A"),
    answer("Asked."),
    write("b", "B"),
    answer("Not asked."),
  ]);
  person.type("first\r");
  await person.answers("y", "y yes");
  await person.sees(/Asked\.[\s\S]*ready/);
  person.type("\x1b[Z");
  await person.sees("ready · edits allowed");
  person.type("second\r");
  await person.sees(/Not asked\.[\s\S]*ready · edits allowed/);
  expect(readFileSync(join(world.root, "b"), "utf8")).toBe("B");
  person.kill("SIGKILL");
  await person.ended;

  const script = [write("c", "C"), answer("Not asked again."), write("d", "D"), answer("Done.")];
  const { person: again } = await startConversation(world, script, ["--continue"]);
  await again.sees("edits allowed");
  again.type("third\r");
  await again.sees(/Not asked again\.[\s\S]*ready/);
  again.type("\x1b[Z");
  await again.sees(/Mode plan[\s\S]*ready[^\n]*plan mode/);
  again.type("\x1b[Z");
  await again.sees("Mode ask");
  again.type("fourth\r");
  await again.sees("y yes");
  expect(existsSync(join(world.root, "d"))).toBe(false);
});

test("Ctrl-G at a question edits the call, which is asked about again", verifies("CHAT-2#keys"), async () => {
  const world = createWorld();
  const editor = join(world.root, "editor.sh");
  writeFileSync(
    editor,
    `#!/bin/sh\ncp "$1" "${world.root}/seen"\necho "$1" > "${world.root}/name"\nprintf 'new\\n' > "$1"\n`,
  );
  chmodSync(editor, 0o755);
  const { person } = await startConversation(world, [write("made.txt", "old"), answer("Written.")], [], {
    VISUAL: editor,
  });
  person.type("write it\r");
  await person.reads("y yes");
  person.type("\x07");
  const changed = /write_file, as you changed it:[\s\S]*what you changed in it:\n +- old\n +\+ new[\s\S]*y yes/;
  await person.sees(changed);
  expect(existsSync(join(world.root, "made.txt"))).toBe(false);
  expect(readFileSync(join(world.root, "seen"), "utf8")).toBe("old\n");
  expect(readFileSync(join(world.root, "name"), "utf8")).toMatch(/\/made\.txt\n$/);
  await person.answers("y", changed);
  await person.sees(/Written\.[\s\S]*ready/);
  expect(readFileSync(join(world.root, "made.txt"), "utf8")).toBe("new");
});
