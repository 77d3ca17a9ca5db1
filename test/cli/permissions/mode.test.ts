import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createPermissions, type PermissionOptions } from "../../../src/cli/permissions/permissions.js";
import { verifies } from "../../verifies.js";

function world(options: Partial<PermissionOptions> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-mode-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, "root");
  mkdirSync(join(root, "src"), { recursive: true });
  mkdirSync(join(base, "outside"));
  symlinkSync(join(base, "outside"), join(root, "src", "out"));
  writeFileSync(join(root, "src", "a.ts"), "a\n");
  const environment = { XDG_CONFIG_HOME: join(base, "config"), HOME: base };
  return createPermissions({ allowAll: false, root, home: join(base, "home"), environment, ...options });
}

const inEdits = (session: string) => ({ sessionId: "s", data: { mode: { session, is: "edits" } } });
const writing = (tool: string, path: string) => ({ tool, readOnly: false, input: { path, content: "x" } });

test("edits allows the tools that write files, in the folder, in its session", verifies("CHAT-2#keys"), async () => {
  const { decide } = world();
  for (const tool of ["edit_file", "write_file"])
    for (const path of ["src/a.ts", "new/deep/file", ".hidden"]) {
      expect((await decide(writing(tool, path))).verdict).toBe("ask");
      expect(await decide(writing(tool, path), inEdits("s"))).toMatchObject({
        verdict: "allow",
        rule: { scope: "session", rule: `${tool}(**)` },
      });
      // A fork has the data of its origin, but is another session.
      expect((await decide(writing(tool, path), inEdits("origin"))).verdict).toBe("ask");
    }
});

test("edits allows nothing outside of the folder, and no other tool", verifies("CHAT-2#keys"), async () => {
  const { decide } = world();
  for (const path of ["../x", "/etc/passwd", "src/out/x", "src/../../x"])
    expect((await decide(writing("write_file", path), inEdits("s"))).verdict).toBe("ask");
  const others = [
    { tool: "shell", readOnly: false, input: { command: "touch x" } },
    { tool: "fetch_url", readOnly: false, input: { url: "https://example.org" } },
    { tool: "mcp__files__write_file", readOnly: false, input: { path: "x" } },
  ];
  for (const call of others) expect((await decide(call, inEdits("s"))).verdict).toBe("ask");
});

test("rules that deny or ask win over edits", verifies("CHAT-2#rules"), async () => {
  const { decide } = world({ deny: ["edit_file(src/**)"] });
  const session = inEdits("s");
  expect((await decide(writing("edit_file", "src/a.ts"), session)).verdict).toBe("deny");
  expect((await decide(writing("write_file", "b.ts"), session)).verdict).toBe("allow");
  const asking = {
    ...session,
    data: { ...session.data, permissions: { session: "s", ask: [{ rule: "write_file" }] } },
  };
  expect((await decide(writing("write_file", "b.ts"), asking)).verdict).toBe("ask");
});

test("with --yes the model asks nobody, unless a rule allows it to", verifies("CHAT-2#rules"), async () => {
  const asking = { tool: "ask_person", readOnly: true, input: { question: "Which?" } };
  expect((await world().decide(asking)).verdict).toBe("allow");
  expect(await world({ allowAll: true }).decide(asking)).toMatchObject({
    verdict: "deny",
    why: expect.stringContaining("decide yourself"),
  });
  expect((await world({ allowAll: true, allow: ["ask_person"] }).decide(asking)).verdict).toBe("allow");
});

test.each([null, "edits", [], {}, { session: "s", is: "all" }, { is: "edits" }])(
  "%j in the data is no mode",
  async (mode) => {
    expect((await world().decide(writing("write_file", "a"), { sessionId: "s", data: { mode } })).verdict).toBe("ask");
  },
);
