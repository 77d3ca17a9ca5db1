/**
 * Rules about what commands may do beyond their sandbox: `reach(…)` and `outside(…)`.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findClosedFiles } from "../../../src/cli/permissions/closed-files.js";
import { createPermissions, type PermissionOptions } from "../../../src/cli/permissions/permissions.js";
import { parseRule } from "../../../src/cli/permissions/rule.js";
import type { Json } from "../../../src/index.js";
import { verifies } from "../../verifies.js";

function permissionsWith(options: Partial<PermissionOptions> = {}, files: Readonly<Record<string, string>> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-sandbox-rules-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, "root");
  mkdirSync(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const environment = { XDG_CONFIG_HOME: join(base, "config") };
  const permissions = createPermissions({ allowAll: false, root, home: join(base, "home"), environment, ...options });
  permissions.useSandbox({ kind: "bubblewrap", hosts: ["pypi"] });
  const decide = (input: Json) => permissions.decide({ tool: "shell", readOnly: false, input });
  return { permissions, decide, root };
}

const install = { command: "npm install", hosts: ["registry.npmjs.org"] };
const publish = { command: "npm publish", outside: true, why: "It needs the token." };

describe("a command that asks for a host", verifies("BOX-2"), () => {
  const cases: readonly [title: string, rules: Partial<PermissionOptions>, verdict: string][] = [
    ["asks without a rule", {}, "ask"],
    ["asks although a rule allows the command", { allow: ["shell(npm install)"] }, "ask"],
    ["asks although a rule allows every command", { allow: ["shell"] }, "ask"],
    ["asks with --yes", { allowAll: true }, "ask"],
    ["asks for the command although a rule allows the host", { allow: ["reach(npm)"] }, "ask"],
    ["runs if rules allow the command and the host", { allow: ["reach(npm)", "shell(npm install)"] }, "allow"],
    ["runs with --yes if a rule allows the host", { allowAll: true, allow: ["reach(registry.npmjs.org)"] }, "allow"],
    ["runs by a rule for all hosts below one", { allowAll: true, allow: ["reach(*.npmjs.org)"] }, "allow"],
    ["is denied by a rule for the host", { allow: ["reach(npm)", "shell"], deny: ["reach(*.npmjs.org)"] }, "deny"],
    ["is denied by a rule for the command", { allow: ["reach(npm)"], deny: ["shell(npm *)"] }, "deny"],
    ["asks if a rule is for another port", { allow: ["reach(registry.npmjs.org:8443)", "shell"] }, "ask"],
  ];
  test.each(cases)("%s", async (_title, rules, verdict) => {
    expect((await permissionsWith(rules).decide(install)).verdict).toBe(verdict);
  });

  test("says which host, and the preset that it belongs to", async () => {
    expect((await permissionsWith().decide(install)).question).toBe(
      "It may reach registry.npmjs.org (npm) while it runs.",
    );
  });

  test("needs no rule for a host that every command may reach", async () => {
    const { decide } = permissionsWith({ allow: ["shell"] });
    expect((await decide({ command: "pip install x", hosts: ["pypi.org"] })).verdict).toBe("allow");
    expect((await decide({ command: "pip install x", hosts: ["pypi", "files.pythonhosted.org:443"] })).verdict).toBe(
      "allow",
    );
    expect((await decide({ command: "pip install x", hosts: ["pypi.org:22"] })).verdict).toBe("ask");
  });

  test("asks about a host that cannot be read, and says so", async () => {
    expect(await permissionsWith({ allow: ["shell"] }).decide({ command: "x", hosts: ["*"] })).toMatchObject({
      verdict: "ask",
      question: expect.stringContaining('the host "*" is invalid'),
    });
  });

  test("is offered the host alone, and with the command", async () => {
    const { permissions } = permissionsWith();
    expect(await permissions.offersFor({ name: "shell", input: install })).toMatchObject({
      offers: [
        { rules: ["reach(npm)"], label: "all commands reach npm", canPersist: true },
        {
          rules: ["reach(npm)", "shell(npm install)"],
          label: expect.stringMatching(/npm install.*, and all commands reach npm$/),
        },
      ],
    });
    const other = { command: "curl https://api.example.org", hosts: ["api.example.org"] };
    expect(await permissions.offersFor({ name: "shell", input: other })).toMatchObject({
      offers: [{ rules: ["reach(api.example.org)"] }, { rules: ["reach(api.example.org)", expect.anything()] }],
    });
  });

  test("reaches what rules allow by then, and nothing that they deny", () => {
    const { permissions } = permissionsWith({ allow: ["reach(*.example.org)"], deny: ["reach(evil.example.org)"] });
    const session = { sessionId: "s", data: {} };
    const decide = (name: string, port = 443) => permissions.decideHost({ name, port }, session);
    expect(decide("api.example.org")).toBe("allow");
    expect(decide("api.example.org", 22)).toBeUndefined();
    expect(decide("evil.example.org")).toBe("deny");
    expect(decide("evil.example.org", 8080)).toBe("deny");
    expect(decide("example.org")).toBeUndefined();
  });
});

describe("a command that asks to run outside", verifies("BOX-3"), () => {
  const cases: readonly [title: string, rules: Partial<PermissionOptions>, verdict: string][] = [
    ["asks without a rule", {}, "ask"],
    ["asks although a rule allows the command", { allow: ["shell(npm publish)"] }, "ask"],
    ["asks although a rule allows every command", { allow: ["shell"] }, "ask"],
    ["asks with --yes", { allowAll: true }, "ask"],
    ["asks although commands in the sandbox run unasked", { ask: "outside" }, "ask"],
    ["runs by a rule for exactly this line", { allow: ["outside(npm publish)"] }, "allow"],
    ["asks if the rule is for another line", { allow: ["outside(npm publish --dry-run)"] }, "ask"],
    ["asks if the rule has a star, which stands for itself", { allow: ["outside(npm *)"] }, "ask"],
    ["is denied by a rule for every such command", { allow: ["outside(npm publish)"], deny: ["outside"] }, "deny"],
    ["is denied by a rule for the command", { allow: ["outside(npm publish)"], deny: ["shell(npm *)"] }, "deny"],
  ];
  test.each(cases)("%s", async (_title, rules, verdict) => {
    expect((await permissionsWith(rules).decide(publish)).verdict).toBe(verdict);
  });

  test("says what it can do then, and if it does not say why", async () => {
    const question = "Outside, it can read and write your files, and use the network.";
    expect((await permissionsWith().decide(publish)).question).toBe(question);
    const { why: _why, ...unexplained } = publish;
    expect((await permissionsWith().decide(unexplained)).question).toBe(`${question} It does not say why.`);
  });

  test("is offered this line alone, word for word", async () => {
    const { permissions } = permissionsWith();
    expect(await permissions.offersFor({ name: "shell", input: publish })).toEqual({
      offers: [
        {
          rules: ["outside(npm publish)"],
          label: '"npm publish" outside of the sandbox, exactly this',
          canPersist: true,
        },
      ],
    });
    const lines = { command: "npm publish\nrm -rf /", outside: true };
    expect(await permissions.offersFor({ name: "shell", input: lines })).toEqual({ why: expect.any(String) });
  });
});

describe("a file tool that writes what other programs run", verifies("BOX-1"), () => {
  test.each([
    ["edit_file(**)", ".vscode/tasks.json", "ask"],
    ["edit_file", ".envrc", "ask"],
    ["edit_file(*/tasks.json)", ".vscode/tasks.json", "ask"],
    ["edit_file(.vscode/**)", ".vscode/tasks.json", "allow"],
    ["edit_file(.envrc)", ".envrc", "allow"],
    ["edit_file(**)", "src/.vscode/x", "allow"],
  ])("with the rule %s for %s: %s", async (rule, path, verdict) => {
    const { permissions } = permissionsWith({ allow: [rule] });
    const input = { path, oldText: "a", newText: "b" };
    expect((await permissions.decide({ tool: "edit_file", readOnly: false, input })).verdict).toBe(verdict);
  });
});

describe("with shell.ask: outside,", verifies("BOX-3"), () => {
  test("a command in the sandbox runs unasked, and one without a sandbox asks", async () => {
    const { permissions, decide } = permissionsWith({ ask: "outside" });
    expect((await decide({ command: "make && ./run $(date)" })).verdict).toBe("allow");
    permissions.useSandbox({ kind: "none", hosts: [] });
    expect((await decide({ command: "make && ./run $(date)" })).verdict).toBe("ask");
  });

  test("rules that ask or deny still count, and a line that may be denied asks", async () => {
    const { decide } = permissionsWith({ ask: "outside", deny: ["shell(rm *)"] });
    expect((await decide({ command: "rm -rf x" })).verdict).toBe("deny");
    expect((await decide({ command: "eval $x" })).verdict).toBe("ask");
    expect((await decide({ command: "make" })).verdict).toBe("allow");
  });
});

describe("60 steps of work in a repository", verifies("BOX-3"), () => {
  const lines =
    `git status|ls -la|cat package.json|npm ci|npm test|npx tsc --noEmit|grep -rn TODO src|git switch -c fix/dates|sed -n 1,80p src/dates.ts
node -e 'console.log(new Date(0))'|npx vitest run test/dates.test.ts|git diff|git add src/dates.ts|git commit -m "Dates are in UTC"|npm run build|ls dist|du -sh dist
node dist/main.js --version|npx eslint src|npx eslint src --fix|git diff --stat|npm test -- --coverage|rm -rf coverage|mkdir -p test/fixtures|cp README.md test/fixtures/a.md
python3 scripts/check.py|python3 -m venv .venv|.venv/bin/pip install requests|.venv/bin/python scripts/fetch.py --dry-run|find . -name "*.snap"|wc -l src/*.ts|git log --oneline -5
npm install zod|npm ls zod|npx vitest run -u|git stash|npm test|git stash pop|node scripts/migrate.js|sqlite3 dev.db ".tables"|make lint|make|time node dist/main.js big.json
for f in src/*.ts; do node scripts/size.js "$f"; done|npm run dev & sleep 1; curl -s localhost:3000/health|curl -s localhost:3000/users \\| head|tar czf out.tgz dist
git rebase main|npm run build && npm test|npx prettier --write src|git commit -am "Format"|git format-patch -1|cat 0001-*.patch|rm 0001-*.patch|npm outdated|npm audit
git blame src/dates.ts|npx tsc -p tsconfig.build.json|diff -r dist dist.old|git push origin fix/dates`
      .split(/\||\n/)
      .map((line) => line.trim());
  const asks = async (options: Partial<PermissionOptions>) => {
    const { decide } = permissionsWith(options);
    let count = 0;
    for (const command of lines) {
      // What needs a host or the person's key says so in its input.
      const isOutside = command.startsWith("git push");
      const hosts = /^npm (ci|install|outdated|audit)/.test(command) ? ["registry.npmjs.org"] : [];
      const input = { command, ...(isOutside ? { outside: true } : {}), ...(hosts.length === 0 ? {} : { hosts }) };
      if ((await decide(input)).verdict === "ask") count += 1;
    }
    return count;
  };

  test("ask less if commands in the sandbox run unasked, and once if the person also lists npm", async () => {
    expect(lines.length).toBeGreaterThanOrEqual(60);
    expect(await asks({})).toBe(46);
    expect(await asks({ ask: "outside" })).toBe(5);
    expect(await asks({ ask: "outside", allow: ["reach(npm)"] })).toBe(1);
  });
});

test.each([
  ["reach", "name the hosts"],
  ["reach(nmp)", "there is no preset"],
  ["reach(*.com)", "a wildcard must be followed by at least two labels"],
  ["reach(https://example.org)", "write a host"],
  ["reach(example.org/path)", "write a host"],
  ["outside", "word for word"],
  ["outside()", "the parentheses are empty"],
])("the rule %s is refused, because %s", verifies("BOX-2", "BOX-3"), (text, why) => {
  expect(() => parseRule("allow", { rule: text }, "user", "/home/ada")).toThrow(why);
});

test("no command starts if not all files that rules close can be found", verifies("BOX-1"), async () => {
  const { root } = permissionsWith({}, { "a/x": "", "b/y": "", "c/.env": "" });
  const deny = (rule: string) => [parseRule("deny", { rule }, "user", "/home/ada")];
  const rules = deny("read_file(**/.env)");
  expect(await findClosedFiles(root, rules)).toEqual([join(root, "c/.env")]);
  await expect(findClosedFiles(root, rules, undefined, { maxEntries: 3, maxFiles: 3 })).rejects.toThrow(
    "More than 3 files and folders would have to be searched for denied files.",
  );
  // Only folders in which a rule can match are searched.
  expect(await findClosedFiles(root, deny("read_file(c/.env)"), undefined, { maxEntries: 4, maxFiles: 3 })).toEqual([
    join(root, "c/.env"),
  ]);
  for (const elsewhere of ["read_file(/etc/**)", "read_file(~/.ssh/**)", "edit_file(**)"])
    expect(await findClosedFiles(root, deny(elsewhere), undefined, { maxEntries: 0, maxFiles: 0 })).toEqual([]);
});

test("files that a rule closes to whatever reads are found for the sandbox", verifies("BOX-1"), async () => {
  const files = { ".env": "", "a/.env.local": "", "a/b.txt": "", "secrets/x": "", "node_modules/.env": "" };
  const { permissions, root } = permissionsWith(
    { deny: ["read_file(**/.env*)", "read_file(secrets)", "edit_file(a/**)"] },
    files,
  );
  expect((await permissions.closedFiles()).toSorted()).toEqual(
    [".env", "a/.env.local", "secrets"].map((path) => join(root, path)),
  );
});

test(
  "the search for files that rules close leaves time for other work, and can be stopped",
  verifies("BOX-1"),
  async () => {
    const files = Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`many/${index}`, ""]));
    const { root } = permissionsWith({}, files);
    const rules = [parseRule("deny", { rule: "read_file(**/.env)" }, "user", "/home/ada")];
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error("stopped")));
    await expect(findClosedFiles(root, rules, stop.signal)).rejects.toThrow("stopped");
  },
);
