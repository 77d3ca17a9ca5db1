/**
 * The checklist of a release: `npm run release`. It checks all that a machine can check, in order, stops at the first step that
 * fails, and publishes nothing. At the end it prints what a person does.
 *
 *     npm run release -- --list          the steps, without running them
 *     npm run release -- --only log,api  these steps
 *
 * Before it: the version in package.json, its heading in CHANGELOG.md, and `npm run golden -- --release`.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const { name, version, repository } = JSON.parse(readFileSync("package.json", "utf8"));

/** Nobody but its owner knows where the repository is. */
const nameTheRepository = `Name the repository in package.json, and commit that. Without it npm refuses to publish: the provenance says
     from which repository a package was built, and npm compares the two. The lines are, with your own address:
       "repository": { "type": "git", "url": "git+https://github.com/OWNER/pawl.git" },
       "bugs": "https://github.com/OWNER/pawl/issues",
       "homepage": "https://github.com/OWNER/pawl#readme",
     Then begin this list again: the checks are about the commit that is released.`;

const steps = {
  tree: ["the checkout is clean, and on the branch main", checkTree],
  version: ["the version is newer than the last one, and CHANGELOG.md tells what is in it", checkVersion],
  api: ["what the last release offered is still there, but for a new minor version", checkApi],
  log: ["the golden logs of this release are kept, and those of others are untouched", checkGoldenLogs],
  prices: ["the table of prices is what its package gives, and no newer one has waited for 30 days", checkPrices],
  licences: ["a build finds each licence of THIRD_PARTY.md as it is", checkLicences],
  package: ["the package, as strangers get it, works on Node 20, 22 and 24, in Bun and in Deno", checkPackage],
  ci: ["continuous integration passes on the commit", () => run(".ci/run", [])],
};

const { values: options } = parseArgs({ options: { list: { type: "boolean" }, only: { type: "string" } } });
const asked = options.only?.split(",") ?? Object.keys(steps);
const unknown = asked.find((one) => steps[one] === undefined);
if (unknown !== undefined) {
  console.error(`There is no step "${unknown}". The steps are: ${Object.keys(steps).join(", ")}.`);
  process.exit(2);
}
for (const one of asked) {
  const [what, check] = steps[one];
  if (options.list) {
    console.log(`${one.padEnd(10)}${what}`);
    continue;
  }
  console.log(`── ${one}: ${what}`);
  try {
    check();
  } catch (error) {
    console.error(`${name} ${version} cannot be released yet. ${error.message}`);
    process.exit(1);
  }
}
if (!options.list && options.only === undefined) console.log(whatAPersonDoes());

function checkTree() {
  must(git("status", "--porcelain") === "", "There are changes that are not committed.");
  must(git("branch", "--show-current") === "main", "This is not the branch main.");
}

function checkVersion() {
  if (repository === undefined)
    console.log(
      "   package.json names no repository. The checks work without it; publishing does not. The end says what to write.",
    );
  must(/^\d+\.\d+\.\d+$/.test(version), `"${version}" is no version of a release.`);
  const last = lastRelease();
  if (last !== null) must(order(version, last) > 0, `${version} is not newer than ${last}.`);
  const changelog = readFileSync("CHANGELOG.md", "utf8");
  const unreleased = /^## \[Unreleased\]\s*\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(changelog)?.[1].trim() ?? "";
  must(unreleased === "", "CHANGELOG.md has lines under Unreleased. Move them under the heading of this version.");
  const heading = new RegExp(`^## \\[${version.replaceAll(".", "\\.")}\\] - \\d{4}-\\d{2}-\\d{2}$`, "m");
  must(heading.test(changelog), `CHANGELOG.md has no heading "## [${version}] - YYYY-MM-DD".`);
}

/** From 0.1 on, only a new minor version (a new major one after 1.0) may take something away. */
function checkApi() {
  run("npm", ["run", "--silent", "api:check"]);
  const last = lastRelease();
  if (last === null)
    return console.log("   This is the first release: its reports in etc/ are what later ones are held to.");
  const taken = git("diff", `v${last}`, "--", "etc").match(/^-(?!--).*\S.*$/gm) ?? [];
  if (taken.length === 0) return;
  console.log(taken.join("\n"));
  must(
    mayBreak(version, last),
    `${version} takes these lines from the API of ${last}. It has to be a version that may.`,
  );
}

function mayBreak(next, last) {
  const [major, minor] = next.split(".").map(Number);
  const [lastMajor, lastMinor] = last.split(".").map(Number);
  return major > lastMajor || (major === 0 && minor > lastMinor);
}

function checkGoldenLogs() {
  const kept = `test/golden/released/${version}`;
  must(existsSync(kept), `${kept} is missing: npm run golden -- --release`);
  run("npm", ["run", "--silent", "golden", "--", "--release"]);
  must(git("status", "--porcelain", "--", kept) === "", `${kept} is of another day.`);
  const last = lastRelease();
  if (last === null) return;
  const changed = git("diff", "--name-only", "--diff-filter=DMR", `v${last}`, "--", "test/golden/released");
  must(changed === "", `Logs of earlier releases were changed:\n${changed}`);
}

function checkLicences() {
  const before = readFileSync("THIRD_PARTY.md", "utf8");
  run("npm", ["run", "--silent", "build"]);
  must(readFileSync("THIRD_PARTY.md", "utf8") === before, "THIRD_PARTY.md was not up to date. Commit the new one.");
}

function checkPrices() {
  run("npm", ["run", "--silent", "prices", "--", "--check"]);
  run("npm", ["run", "--silent", "prices", "--", "--age"]);
}

function checkPackage() {
  run("npm", ["run", "--silent", "install-size"]);
  run("npm", ["run", "--silent", "package", "--", "--everywhere"]);
}

function whatAPersonDoes() {
  const address = repository?.url ?? repository;
  // An unsigned tag may mark the commit that was tested. The signed one, of the commit that is published, replaces it.
  const replacing = git("tag", "--list", `v${version}`) === "" ? "" : "--force ";
  const steps = [
    ...(address === undefined ? [nameTheRepository] : []),
    "npm run soak                          hours of random faults, on a machine that has nothing else to do",
    "npm run bench -- loop                 figures in docs/performance.md that are not of this commit",
    `git tag -s ${replacing}v${version} -m "${name} ${version}" && git push origin v${version}
                                           to ${address ?? "the repository that you have named"};
                                           .github/workflows/release.yml publishes it from there, with provenance`,
    `npm view ${name}@${version} dist.attestations      shows that npm knows where it was built`,
  ];
  const ready = address === undefined ? "passes all checks, but package.json names no repository" : "can be released";
  return `
${name} ${version} ${ready}. What is left is yours:

${steps.map((step, index) => `  ${index + 1}. ${step}`).join("\n")}
`;
}

/** The last version that has a tag, or null before the first. */
function lastRelease() {
  const tags = git("tag", "--list", "v*")
    .split("\n")
    .filter((tag) => /^v\d+\.\d+\.\d+$/.test(tag) && tag !== `v${version}`);
  return (
    tags
      .map((tag) => tag.slice(1))
      .sort(order)
      .at(-1) ?? null
  );
}

function order(one, other) {
  const [a, b] = [one, other].map((text) => text.split(".").map(Number));
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function must(condition, message) {
  if (!condition) throw new Error(message);
}

function git(...words) {
  const { status, stdout, stderr } = spawnSync("git", words, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  must(status === 0, stderr);
  return stdout.trim();
}

function run(command, words) {
  const { status, error } = spawnSync(command, words, { stdio: "inherit" });
  must(error === undefined && status === 0, `${[command, ...words].join(" ")} failed.`);
}
