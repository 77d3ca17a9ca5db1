/**
 * The corpus of lines: each is run, and what was seen is compared with what the permission rules said of it.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPermissions, type Permissions } from "../../../src/cli/permissions/permissions.js";
import { verifies } from "../../verifies.js";
import { corpus } from "./corpus.js";
import { canIsolate, createScratch, type LineEffects, type Scratch } from "./scratch.js";

const lines = [...new Set(Object.values(corpus).flat())];
const unpromised = new Set(corpus["what no denial of rm can promise"]);
const shell = (command: string) => ({ tool: "shell", readOnly: false, input: { command } });

type Offered = { readonly rules: readonly string[]; readonly label: string; readonly note?: string };

const isIsolated = canIsolate();

let scratch: ReturnType<typeof createScratch>;
const seen = new Map<string, LineEffects>();
/** The rules that a question about each line offers; or why none. */
const offered = new Map<string, readonly Offered[] | string>();

function permissionsOf(
  { base, root }: Pick<Scratch, "base" | "root">,
  options: Partial<Parameters<typeof createPermissions>[0]>,
) {
  const environment = { XDG_CONFIG_HOME: join(base, "config") };
  return createPermissions({
    allowAll: false,
    root,
    home: join(base, "home"),
    environment,
    ...options,
  });
}

async function verdicts(permissions: Permissions, of: readonly string[] = lines): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const line of of) found.set(line, (await permissions.decide(shell(line))).verdict);
  return found;
}

const seenOf = (line: string): LineEffects => {
  const one = seen.get(line);
  if (one === undefined) throw new Error(`The corpus has no line ${line}`);
  return one;
};

beforeAll(async () => {
  if (!isIsolated) return;
  scratch = createScratch();
  const left = [...lines];
  const work = async () => {
    for (let line = left.shift(); line !== undefined; line = left.shift()) seen.set(line, await scratch.run(line));
  };
  await Promise.all([work(), work(), work()]);
  const permissions = permissionsOf(scratch, {});
  for (const line of lines) {
    const found = await permissions.offersFor({ name: "shell", input: { command: line } });
    offered.set(line, "why" in found ? found.why : found.offers);
  }
}, 600_000);

afterAll(() => {
  if (isIsolated) scratch.remove();
});

describe.runIf(isIsolated)("a line of the corpus", verifies("CHAT-2#rules"), () => {
  test("that starts the canary, deletes or reads elsewhere was seen to do so for most lines that are meant to", () => {
    const harmful = lines.filter((line) => Object.values(seenOf(line)).some(Boolean));
    expect(harmful.length).toBeGreaterThan(250);
    const gone = [...(corpus["ways to delete"] ?? [])].filter((line) => seenOf(line).deleted);
    expect(gone.length).toBeGreaterThan(55);
  });

  test("runs without a rule only if it was seen to read nothing elsewhere, and to change and start nothing", async () => {
    const all = await verdicts(permissionsOf(scratch, {}));
    const wrong = lines.filter((line) => {
      const { ran, deleted, wrote, readOutside } = seenOf(line);
      return all.get(line) === "allow" && (ran || deleted || wrote || readOutside);
    });
    expect(wrong).toEqual([]);
    const reading = corpus["commands that only read"] ?? [];
    expect(reading.filter((line) => all.get(line) !== "allow")).toEqual([]);
  });

  test("does not run without a rule if it was seen to read what a rule closes", async () => {
    for (const rule of ["read_file(**/.env*)", "read_file(.env)"]) {
      const all = await verdicts(permissionsOf(scratch, { deny: [rule] }));
      expect(lines.filter((line) => all.get(line) === "allow" && seenOf(line).readClosed)).toEqual([]);
    }
  });

  test("that was seen to read what a rule closes is denied with --yes, unless it reads all that lies in a folder", async () => {
    const all = await verdicts(permissionsOf(scratch, { allowAll: true, deny: ["read_file(.env)"] }));
    const missed = lines.filter((line) => seenOf(line).readClosed && all.get(line) !== "deny");
    expect(missed.toSorted()).toEqual(["diff -N . src", "grep -rn CLOSED .", "rg --hidden CLOSED"]);
  });

  test("that starts the canary or deletes is covered by no offered rule that does not name it, unless the offer has a note", async () => {
    const harmful = lines.filter((line) => seenOf(line).ran || seenOf(line).deleted);
    const offers = new Map<string, Offered>();
    for (const found of offered.values())
      if (typeof found !== "string") for (const one of found) offers.set(one.rules.join("\n"), one);
    const passed: { readonly rules: string; readonly line: string; readonly hasNote: boolean }[] = [];
    let pairs = 0;
    for (const { rules, note } of offers.values()) {
      const names = rules.map((rule) => /\((?:cd \S+ && )?([^\s)]+)/.exec(rule)?.[1] ?? "");
      const permissions = permissionsOf(scratch, { allow: rules });
      for (const line of harmful.filter((one) => names.some((name) => one.includes(name)))) {
        pairs += 1;
        const saysSo = rules.some((rule) => /canary|victim|\brm\b/.test(rule));
        if (!saysSo && (await permissions.decide(shell(line))).verdict === "allow")
          passed.push({ rules: rules.join(" + "), line, hasNote: note !== undefined });
      }
    }
    report.offers = { offers: offers.size, pairs, passed };
    expect(pairs).toBeGreaterThan(500);
    expect(passed.filter(({ hasNote }) => !hasNote)).toEqual([]);
  }, 300_000);

  test("that was seen to delete by rm is denied with --yes by a denial of rm", async () => {
    const all = await verdicts(permissionsOf(scratch, { allowAll: true, deny: ["shell(rm *)"] }));
    const missed = lines.filter((line) => seenOf(line).deleted && /\brm\b/.test(line) && all.get(line) !== "deny");
    expect(missed.filter((line) => !unpromised.has(line))).toEqual([]);
    const reading = corpus["commands that only read"] ?? [];
    expect(reading.filter((line) => all.get(line) === "deny")).toEqual([]);
    report.denied = Object.fromEntries([...all].map(([line, verdict]) => [line, verdict]));
  });

  test("is in the guide's table as it was seen", async () => {
    const page = readFileSync("docs/guide/permissions.md", "utf8");
    const rows = [...page.matchAll(/^\| `(.+?)` \| (\w[^|]*?) \| (.+?) \| (.+?) \| (\w[^|]*?) \|$/gm)];
    expect(rows.length).toBeGreaterThan(25);
    const without = await verdicts(permissionsOf(scratch, {}));
    const denied = await verdicts(permissionsOf(scratch, { allowAll: true, deny: ["shell(rm *)"] }));
    const actual = rows.map(([, cell = ""]) => rowOf(cell.replaceAll("\\|", "|"), without, denied));
    if (process.env.PAWL_WRITE_CORPUS === "1") {
      const written = rows.reduce((text, [row], at) => text.replace(row, () => actual[at] ?? row), page);
      writeFileSync("docs/guide/permissions.md", written);
    } else expect(rows.map(([row]) => row)).toEqual(actual);
  });
});

function rowOf(line: string, without: ReadonlyMap<string, string>, denied: ReadonlyMap<string, string>): string {
  const found = offered.get(line) ?? "";
  const cell = (text: string) => `\`${text.replaceAll("|", "\\|")}\``;
  const runs = without.get(line) === "allow";
  const offer = runs
    ? "none needed"
    : typeof found === "string"
      ? "none"
      : (found[0]?.rules ?? []).map(cell).join(", ");
  const { ran, deleted, wrote, readOutside } = seenOf(line);
  const did = ran
    ? "starts a program"
    : deleted
      ? "deletes"
      : readOutside
        ? "reads outside"
        : wrote
          ? "writes"
          : "reads";
  return `| ${cell(line)} | ${runs ? "runs" : "asks"} | ${offer} | ${denied.get(line) === "deny" ? "denied" : "runs"} | ${did} |`;
}

/** With PAWL_WRITE_CORPUS=1, what was seen and decided is written for a person to look at. */
const report: { [name: string]: unknown } = {};
afterAll(() => {
  if (process.env.PAWL_WRITE_CORPUS !== "1" || !isIsolated) return;
  mkdirSync("temp", { recursive: true });
  const all = { ...report, seen: Object.fromEntries(seen), offered: Object.fromEntries(offered) };
  writeFileSync("temp/corpus.json", JSON.stringify(all, null, 1));
});
