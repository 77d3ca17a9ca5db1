/**
 * Permission rules: what they allow, ask and deny.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { decideByRules } from "../../../src/cli/permissions/decide.js";
import { createPermissions, type PermissionOptions } from "../../../src/cli/permissions/permissions.js";
import { resolveProjectFolder } from "../../../src/cli/permissions/project-folder.js";
import { parseRule, type Rule } from "../../../src/cli/permissions/rule.js";
import { findRuleNote, listOptionNotes } from "../../../src/cli/permissions/rule-note.js";
import { createOffers } from "../../../src/cli/permissions/rule-offers.js";
import type { Verdict } from "../../../src/cli/permissions/rule-types.js";
import { saveRule } from "../../../src/cli/permissions/save-rule.js";
import type { Json } from "../../../src/index.js";
import { verifies } from "../../verifies.js";
import { allowed, denied, harmless, mustAsk, notRemoving } from "./rules-table.js";

const rule = (text: string, verdict: Verdict = "allow"): Rule =>
  parseRule(verdict, { rule: text }, "user", "/home/ada");
const shell = (command: string) => ({ tool: "shell", readOnly: false, input: { command } });

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "pawl-rules-")));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function permissionsIn(base: string, options: Partial<PermissionOptions> = {}) {
  const root = join(base, "root");
  mkdirSync(root, { recursive: true });
  const environment = { XDG_CONFIG_HOME: join(base, "config") };
  return createPermissions({ allowAll: false, root, home: join(base, "home"), environment, ...options });
}

test("a rule for a tool that resembles none is accepted, and its note says that it has no effect", () => {
  const note = "There is no tool nosuch, so this rule has no effect.";
  for (const verdict of ["allow", "ask", "deny"] as const) expect(findRuleNote(rule("nosuch", verdict))).toBe(note);
  for (const known of ["todo", "read_agent", "agent_tester", "agent_*", "mcp__docs__search", "outside"])
    expect(findRuleNote(rule(known, "deny"))).toBe(null);
  const permissions = permissionsIn(folder(), { allow: ["nosuch", "todo"], deny: ["shell(rm *)"] });
  expect(listOptionNotes(permissions.rules())).toEqual([note]);
});

describe("a command line", verifies("CHAT-2#rules"), () => {
  const rules = allowed.map((text) => rule(text));

  test.each(harmless)("runs by rules: %j", async (line) => {
    expect(await decideByRules(shell(line), rules, "/tmp")).toMatchObject({ verdict: "allow" });
  });

  test.each(mustAsk)("asks: %j", async (line) => {
    expect(await decideByRules(shell(line), rules, "/tmp")).toMatchObject({ verdict: "ask" });
  });

  test.each(denied)("%s denies %j", async (text, line) => {
    const decided = await decideByRules(shell(line), [...rules, rule("shell(cat *)"), rule(text, "deny")], "/tmp");
    expect(decided).toMatchObject({ verdict: "deny", rule: { rule: text } });
  });

  test.each(notRemoving)("a denial of rm leaves %j alone", async (line) => {
    const permissions = permissionsIn(folder(), { allowAll: true, deny: ["shell(rm *)"] });
    expect(await permissions.decide(shell(line))).toMatchObject({ verdict: "allow" });
  });

  test("is denied with --yes if it cannot be read and a rule denies commands", async () => {
    const permissions = permissionsIn(folder(), { allowAll: true, deny: ["shell(rm *)"] });
    expect(await permissions.decide(shell("ls"))).toMatchObject({ verdict: "allow" });
    for (const line of ["$X y", "ls 'open", "eval $x"])
      expect(await permissions.decide(shell(line)), line).toMatchObject({ verdict: "deny" });
  });
});

describe("a command that reads", verifies("CHAT-2#rules"), () => {
  const verdictOf = async (command: string, root: string) => (await decideByRules(shell(command), [], root)).verdict;

  test("asks for what sets the clock, and no rule with a * covers it", async () => {
    const rules = [rule("shell(date *)")];
    for (const line of ["date", "date +%F", "date -u -R", "date --date=yesterday +%F"])
      expect(await verdictOf(line, "/tmp"), line).toBe("allow");
    for (const line of ["date 010100002030", "date -u 010100002030", "date -- 010100002030", "date -s 12:00"])
      expect(await decideByRules(shell(line), rules, "/tmp"), line).toMatchObject({ verdict: "ask" });
  });

  test("asks if a pattern may match a link out of the folder, whatever the link's name is", async () => {
    for (const name of ["plain", "é", "😀", Buffer.from([0xff])]) {
      const root = folder();
      writeFileSync(join(root, "a.txt"), "");
      expect(await verdictOf("cat *", root)).toBe("allow");
      symlinkSync("/etc/hostname", Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name)]));
      expect(await verdictOf("cat *", root), String(name)).toBe("ask");
    }
    const root = folder();
    symlinkSync("/etc/hostname", join(root, "😀"));
    for (const pattern of ["?", "??", "????", "[a-z]"])
      expect(await verdictOf(`cat ${pattern}`, root), pattern).toBe("ask");
  });

  test("asks for a path that is too long to look up from the root of the file system", async () => {
    const base = folder();
    const root = join(base, "r".repeat(200));
    const name = "x".repeat(199);
    mkdirSync(root);
    const make = `for i in $(seq 20); do mkdir ${name}; cd -P ${name}; done; ln -s /etc/hostname link`;
    execFileSync("sh", ["-c", make], { cwd: root });
    try {
      expect(await verdictOf(`cat ${`${name}/`.repeat(20)}link`, root)).toBe("ask");
      expect(await verdictOf(`cat ${"y".repeat(300)}`, root)).toBe("allow");
    } finally {
      execFileSync("rm", ["-r", root]);
    }
  });
});

describe("a rule for a command", verifies("CHAT-2#rules"), () => {
  test("does not cover an input from outside of the folder, and none is offered for it", async () => {
    const base = folder();
    const permissions = permissionsIn(base, { allow: ["shell(tr a b)", "shell(cat *)", "shell(psql x)"] });
    writeFileSync(join(base, "outside.txt"), "");
    writeFileSync(join(base, "root/inside.txt"), "");
    for (const command of ["tr a b", "cat", "psql x"]) {
      const outside = `${command} < ../outside.txt`;
      expect(await permissions.decide(shell(outside)), outside).toMatchObject({ verdict: "ask" });
      expect(await permissions.offersFor({ name: "shell", input: { command: outside } })).toHaveProperty("why");
    }
    expect(await permissions.decide(shell("tr a b < inside.txt"))).toMatchObject({ verdict: "allow" });
  });

  test.each([
    ["shell(uniq *)", "uniq a.txt", "uniq a.txt victim.txt"],
    ["shell(uniq *)", "uniq -c", "uniq - victim.txt"],
    ["shell(uniq a.txt *)", "uniq a.txt -c", "uniq a.txt victim.txt"],
    ["shell(uniq *)", "uniq -- a.txt", "uniq -- a.txt -victim"],
    ["shell(xxd *)", "xxd a.txt", "xxd a.txt victim.txt"],
    ["shell(xxd *)", "xxd -r a.txt", "xxd -r a.txt victim.txt"],
  ])("with a * covers no operand that is written: %s", async (text, covered, wrote) => {
    const verdictOf = async (line: string) =>
      (await decideByRules(shell(line), [rule(text)], "/tmp", new Set())).verdict;
    expect(await verdictOf(covered)).toBe("allow");
    expect(await verdictOf(wrote)).toBe("ask");
  });

  test("with any arguments is not offered for npm view, and exactly these words last for the session without a sandbox", async () => {
    const permissions = permissionsIn(folder());
    for (const command of ["npm view x", "npm outdated", "yarn list", "pnpm --version"])
      expect(await permissions.offersFor({ name: "shell", input: { command } })).toEqual({
        offers: [expect.objectContaining({ rules: [`shell(${command})`], canPersist: false })],
      });
  });
});

describe("a rule", verifies("CHAT-2#rules"), () => {
  test.each([
    ["shell(sh *)", "choose what runs"],
    ["shell(python3 *)", "choose what runs"],
    ["shell(npx *)", "choose what runs"],
    ["shell(env *)", "choose what runs"],
    ["shell(make *)", "choose what runs"],
    ["shell(./run.sh *)", "choose what runs"],
    ["shell(git * log)", "a * must be a separate last word"],
    ["shell(git lo*)", "a * must be a separate last word"],
    ["shell(*)", "write the words"],
    ["shell()", "parentheses are empty"],
    ["shel(ls)", "there is no tool shel. Did you mean shell(ls)?"],
    ["shel", "Did you mean shell?"],
    [
      "Bash",
      'The permission rule "Bash" (yours, everywhere) cannot be read: there is no tool Bash. Did you mean shell?',
    ],
    ["Bash(git push:*)", "Did you mean shell(git push *)?"],
    ["Read(**/.env)", "Did you mean read_file(**/.env)?"],
    ["WebFetch(domain:example.org)", "Did you mean fetch_url(example.org)?"],
    ["edit_file(../x)", ". or .."],
    ["edit_file(src/{a,b})", "only *, ? and **"],
    ["edit_file(a**b)", "*** must be alone"],
    ["fetch_url(10.0.0.0/8)", "denied, not allowed"],
    ["fetch_url(a.*.org)", "only at the beginning"],
    ["mcp__docs*", "name"],
    ["mcp__docs__search@1a2b", "64 characters"],
    [`mcp__docs__*@${"a1".repeat(32)}`, "only a tool of an MCP server"],
    [`todo@${"a1".repeat(32)}`, "only a tool of an MCP server"],
    ["edit_file(src\u202e)", "hidden characters"],
    ["todo(x)", "take something in parentheses"],
    ["two words", "write the name of a tool"],
  ])("%s is refused", (text, message) => {
    expect(() => rule(text)).toThrow(message);
  });

  test("denies before it asks, and asks before it allows, whatever is more special", async () => {
    const call = { tool: "edit_file", readOnly: false, input: { path: "src/generated/a.ts" } };
    const rules = [rule("edit_file(src/generated/a.ts)"), rule("edit_file(src/**)", "ask")];
    expect(await decideByRules(call, rules, "/tmp")).toMatchObject({ verdict: "ask" });
    const stricter = [...rules, rule("edit_file", "deny")];
    expect(await decideByRules(call, stricter, "/tmp")).toMatchObject({ verdict: "deny" });
    expect(await decideByRules(call, rules.slice(0, 1), "/tmp")).toMatchObject({ verdict: "allow" });
  });

  const web = (url: string) => ({ tool: "fetch_url", readOnly: false, input: { url } });
  test.each([
    ["allow", "fetch_url(ok.org)", "https://ok.org/x", "allow"],
    ["allow", "fetch_url(OK.org)", "http://ok.ORG/", "allow"],
    ["allow", "fetch_url(ok.org)", "https://ok.org:8443/x", "ask"],
    ["allow", "fetch_url(ok.org:8443)", "https://ok.org:8443/x", "allow"],
    ["allow", "fetch_url(https://ok.org)", "http://ok.org/x", "ask"],
    ["allow", "fetch_url(ok.org)", "http://ok.org@evil.org", "ask"],
    ["allow", "fetch_url(ok.org)", "https://ok.org.evil.org", "ask"],
    ["allow", "fetch_url(ok.org)", "https://ok.org\\@evil.org", "allow"],
    ["allow", "fetch_url(ok.org)", "https://okxorg", "ask"],
    ["allow", "fetch_url(ok.org)", "https://ok.org.", "ask"],
    ["allow", "fetch_url(ok.org)", "https://sub.ok.org", "ask"],
    ["allow", "fetch_url(*.ok.org)", "https://sub.ok.org", "allow"],
    ["allow", "fetch_url(*.ok.org)", "https://ok.org", "ask"],
    ["allow", "fetch_url(*.ok.org)", "https://evilok.org", "ask"],
    ["allow", "fetch_url(bücher.example)", "https://xn--bcher-kva.example/", "allow"],
    ["allow", "fetch_url(ok.org)", "no address", "ask"],
    ["deny", "fetch_url(169.254.0.0/16)", "http://169.254.169.254/latest", "deny"],
    ["deny", "fetch_url(169.254.0.0/16)", "http://0xa9fea9fe/", "deny"],
    ["deny", "fetch_url(evil.org)", "https://evil.org.:99/", "deny"],
  ] as const)("%s %s and %s: %s", async (verdict, text, url, expected) => {
    expect(await decideByRules(web(url), [rule(text, verdict)], "/tmp")).toMatchObject({ verdict: expected });
  });

  test("for a server's tools takes a * behind the server's name only", async () => {
    const call = (tool: string) => ({ tool, readOnly: false, input: {} });
    const rules = [parseRule("allow", { rule: "mcp__docs__*" }, "option", "/home/ada")];
    expect(await decideByRules(call("mcp__docs__search"), rules, "/tmp")).toMatchObject({ verdict: "allow" });
    expect(await decideByRules(call("mcp__docs2__search"), rules, "/tmp")).toMatchObject({ verdict: "ask" });
  });

  const hash = "a1".repeat(32);
  test.each([
    [`mcp__docs__search@${hash}`, "user", { hash }, "allow"],
    [`mcp__docs__search@${hash}`, "user", { hash: "b2".repeat(32) }, "ask"],
    [`mcp__docs__search@${hash}`, "user", undefined, "ask"],
    ["mcp__docs__search", "user", { hash }, "ask"],
    ["mcp__docs__*", "project", { hash }, "ask"],
    ["mcp__docs__search", "option", { hash }, "allow"],
    ["mcp__docs__search", "option", { hash, isChanged: true }, "ask"],
  ] as const)("for a server's tool is for one version: %s of %s with %j", async (text, scope, version, expected) => {
    const call = {
      tool: "mcp__docs__search",
      readOnly: false,
      input: {},
      version: version && { isChanged: false, ...version },
    };
    const rules = [parseRule("allow", { rule: text }, scope, "/home/ada")];
    expect(await decideByRules(call, rules, "/tmp")).toMatchObject({ verdict: expected });
  });

  test("that asks or denies is for every version of a server's tool", async () => {
    const call = { tool: "mcp__docs__search", readOnly: false, input: {}, version: { hash, isChanged: true } };
    for (const verdict of ["ask", "deny"] as const)
      for (const text of ["mcp__docs__search", "mcp__docs__*"])
        expect(await decideByRules(call, [rule(text, verdict)], "/tmp")).toMatchObject({ verdict });
    expect(() => rule(`mcp__docs__search@${hash}`, "deny")).toThrow("is for every version");
  });
});

describe("a path", verifies("CHAT-2#rules"), () => {
  const edit = (path: string, tool = "edit_file") => ({ tool, readOnly: tool === "read_file", input: { path } });

  test("is what it really is, and a link does not lead a rule elsewhere", async () => {
    const root = folder();
    mkdirSync(join(root, "src/inner"), { recursive: true });
    mkdirSync(join(root, "other"));
    writeFileSync(join(root, "other/secret.txt"), "");
    symlinkSync(join(root, "other"), join(root, "src/link"));
    const allow = [rule("edit_file(src/**)")];
    const verdictOf = async (path: string, rules = allow) => (await decideByRules(edit(path), rules, root)).verdict;
    expect(await verdictOf("src/a.ts")).toBe("allow");
    expect(await verdictOf("./src/inner/../new/b.ts")).toBe("allow");
    expect(await verdictOf(join(root, "src/a.ts"))).toBe("allow");
    expect(await verdictOf("src/link/secret.txt")).toBe("ask");
    expect(await verdictOf("src/../other/secret.txt")).toBe("ask");
    expect(await verdictOf("srcx/a.ts")).toBe("ask");
    expect(await verdictOf("../src/a.ts")).toBe("ask");
    const deny = [...allow, rule("edit_file(other/**)", "deny")];
    expect(await verdictOf("src/link/secret.txt", deny)).toBe("deny");
  });

  test.each([
    ["*.md", "a.md", true],
    ["*.md", "docs/a.md", false],
    ["**/*.md", "docs/a.md", true],
    ["**/*.md", "a.md", true],
    ["**/.env*", ".env", true],
    ["**/.env*", "a/b/.env.local", true],
    ["src/**", "src", true],
    ["src/?.ts", "src/a.ts", true],
    ["src/?.ts", "src/ab.ts", false],
    ["app/[id]/page.tsx", "app/[id]/page.tsx", true],
    ["app/[id]/page.tsx", "app/i/page.tsx", false],
    ["a*b*c", "axxbxxc", true],
    ["a*b*c", "axxbxx", false],
    ["src/", "src/deep/a.ts", true],
  ] as const)("%s and %s: %s", async (pattern, path, fits) => {
    const { verdict } = await decideByRules(edit(path), [rule(`edit_file(${pattern})`)], "/nowhere");
    expect(verdict).toBe(fits ? "allow" : "ask");
  });

  test("that may not be read is closed to every tool; one that may not be written can be read", async () => {
    const verdictOf = async (tool: string, denial: string, path: string) =>
      (await decideByRules(edit(path, tool), [rule(denial, "deny")], "/nowhere")).verdict;
    expect(await verdictOf("read_file", "read_file(**/.env*)", ".env")).toBe("deny");
    expect(await verdictOf("write_file", "read_file(**/.env*)", ".env")).toBe("deny");
    expect(await verdictOf("read_file", "edit_file(*.lock)", "a.lock")).toBe("allow");
    expect(await verdictOf("write_file", "edit_file(*.lock)", "a.lock")).toBe("deny");
  });

  test("costs no more than pattern times path", async () => {
    const pattern = `**/${"*a".repeat(200)}/b`;
    const path = `${"a".repeat(2_000)}/c`;
    expect((await decideByRules(edit(path), [rule(`edit_file(${pattern})`)], "/nowhere")).verdict).toBe("ask");
  });
});

describe("the kept rules", verifies("CHAT-2#rules"), () => {
  const call = { tool: "edit_file", readOnly: false, input: { path: "a.txt" } as Json };

  test("of a person say who made them, when, and for which call", async () => {
    const base = folder();
    const permissions = permissionsIn(base);
    await saveRule({ permissions, session: null, by: "ada" }, "project", "allow", { rule: "edit_file", call: "r/1/1" });
    const [kept] = permissions.rules();
    expect(kept).toMatchObject({ rule: "edit_file", verdict: "allow", scope: "project", by: "ada", call: "r/1/1" });
    expect(kept?.at).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(JSON.parse(readFileSync(permissions.files.project.path, "utf8"))).toMatchObject({
      folder: permissions.root,
    });
  });

  test("count, and cease to count, at once in every process", async () => {
    const base = folder();
    const [one, other] = [permissionsIn(base), permissionsIn(base)];
    expect((await one.decide(call)).verdict).toBe("ask");
    await saveRule({ permissions: other, session: null, by: "ada" }, "user", "allow", { rule: "edit_file(*.txt)" });
    expect((await one.decide(call)).verdict).toBe("allow");
    await other.files.user.change(() => ({}));
    expect((await one.decide(call)).verdict).toBe("ask");
  });

  test("of many writers at once are all kept", async () => {
    const base = folder();
    const names = Array.from({ length: 12 }, (_, at) => `edit_file(file-${at}.txt)`);
    const add = (name: string) =>
      saveRule({ permissions: permissionsIn(base), session: null, by: "ada" }, "project", "allow", { rule: name });
    await Promise.all(names.map(add));
    expect(
      permissionsIn(base)
        .rules()
        .map((one) => one.rule)
        .sort(),
    ).toEqual([...names].sort());
  });

  test.each([
    ["cut off", '{ "allow": ["edit_file'],
    ["of another shape", '{ "allow": "edit_file" }'],
    ["with an unknown list", '{ "allways": [] }'],
    ["with an unknown field", '{ "allow": [{ "rule": "edit_file", "until": 3 }] }'],
    ["with a rule that cannot be read", '{ "deny": ["shel(rm *)"] }'],
    ["empty", ""],
  ])("in a file that is %s are refused, and then everything asks", async (_, text) => {
    const base = folder();
    const permissions = permissionsIn(base);
    const read = { tool: "read_file", readOnly: true, input: { path: "a.txt" } };
    expect((await permissions.decide(read)).verdict).toBe("allow");
    mkdirSync(join(base, "config/pawl"), { recursive: true });
    writeFileSync(permissions.files.user.path, text);
    expect(await permissions.decide(read)).toMatchObject({
      verdict: "ask",
      why: expect.stringContaining("cannot be read"),
    });
    expect(() => permissionsIn(base)).toThrow("cannot be read");
    expect(() => permissionsIn(base, { allowAll: true })).toThrow("cannot be read");
  });

  test("of a session are not those of a fork", () => {
    const permissions = permissionsIn(folder());
    const data = { permissions: { session: "one", allow: [{ rule: "edit_file" }] } };
    expect(permissions.rules({ sessionId: "one", data })).toHaveLength(1);
    expect(permissions.rules({ sessionId: "fork", data })).toEqual([]);
  });

  test("of worktrees are shared, and a folder cannot claim to be a worktree of another", () => {
    const base = folder();
    const [main, worktree, liar] = ["main", "worktree", "liar"].map((name) => join(base, name)) as [
      string,
      string,
      string,
    ];
    const git = join(main, ".git/worktrees/worktree");
    for (const path of [git, worktree, liar]) mkdirSync(path, { recursive: true });
    writeFileSync(join(git, "commondir"), "../..\n");
    writeFileSync(join(git, "gitdir"), `${join(worktree, ".git")}\n`);
    for (const path of [worktree, liar]) writeFileSync(join(path, ".git"), `gitdir: ${git}\n`);
    expect(resolveProjectFolder("/home", worktree)).toBe(resolveProjectFolder("/home", main));
    expect(resolveProjectFolder("/home", liar)).not.toBe(resolveProjectFolder("/home", main));
  });
});

describe("the rules that are offered", verifies("CHAT-2#rules"), () => {
  /** As if no command could run unasked. */
  const offering = { root: "/tmp", isSandboxed: true, onlyReads: async () => false, readsInputsBelow: () => true };
  const offered = async (command: string, isSandboxed = true) => {
    const offers = await createOffers(
      { name: "shell", input: { command } },
      { ...offering, isSandboxed, platform: "linux" },
    );
    return "why" in offers ? offers.why : offers.offers.map(({ rules, canPersist }) => [rules.join(" + "), canPersist]);
  };

  test.each([
    [
      "git diff --stat",
      [
        ["shell(git diff *)", true],
        ["shell(git diff --stat)", true],
      ],
    ],
    [
      "npm run build",
      [
        ["shell(npm run build *)", true],
        ["shell(npm run build)", true],
      ],
    ],
    [
      "ls 'a b'",
      [
        ["shell(ls *)", true],
        ["shell(ls 'a b')", true],
      ],
    ],
    [
      "git status && ls",
      [
        ["shell(git status *) + shell(ls *)", true],
        ["shell(git status) + shell(ls)", true],
      ],
    ],
    ["python3 x.py", [["shell(python3 x.py)", true]]],
    ["rm -r build", [["shell(rm -r build)", true]]],
    ["git push origin", [["shell(git push origin)", true]]],
    ["git diff --output=x", [["shell(git diff --output=x)", true]]],
  ])("for %s", async (line, expected) => {
    expect(await offered(line)).toEqual(expected);
  });

  test("for what the folder defines last for the session, unless there is a sandbox", async () => {
    expect(await offered("npm test", false)).toEqual([
      ["shell(npm test *)", false],
      ["shell(npm test)", false],
    ]);
    expect(await offered("git status", false)).toEqual([
      ["shell(git status *)", true],
      ["shell(git status)", true],
    ]);
  });

  test("are none for a line that no rule can allow", async () => {
    expect(await offered("ls > x")).toContain("No rule can allow this line");
  });

  test("allow the call that they were offered for", async () => {
    const lines = ["git diff --stat", "npm run build -- --fast", "ls 'a b'", 'cat "it\'s"', "git status; ls | grep x"];
    for (const command of lines) {
      const offers = await createOffers({ name: "shell", input: { command } }, { ...offering, platform: "linux" });
      for (const { rules } of "why" in offers ? [] : offers.offers)
        expect(
          await decideByRules(
            shell(command),
            rules.map((text) => rule(text)),
            "/tmp",
          ),
          command,
        ).toMatchObject({
          verdict: "allow",
        });
      expect("offers" in offers, command).toBe(true);
    }
    const path = { name: "edit_file", input: { path: "./src/deep/a.ts" } };
    const offers = await createOffers(path, { ...offering, isSandboxed: false });
    expect("offers" in offers && offers.offers.map(({ rules }) => rules)).toEqual([
      ["edit_file(src/deep/a.ts)"],
      ["edit_file(src/deep/**)"],
    ]);
  });

  test("on Windows are whole commands only", async () => {
    const offers = await createOffers(
      { name: "shell", input: { command: "git status" } },
      { ...offering, isSandboxed: false, platform: "win32" },
    );
    expect("offers" in offers && offers.offers.map(({ rules }) => rules)).toEqual([["shell(git status)"]]);
  });
});
