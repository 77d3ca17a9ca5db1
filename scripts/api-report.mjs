/**
 * The public API as text, one report for each entry point: etc/<entry>.api.md. A change of the API shows as a change
 * of a report. A type that an entry point names and that none exports needs a reason: scripts/api-unexported.mjs.
 *
 *     node scripts/api-report.mjs             fails if a report is not up to date
 *     node scripts/api-report.mjs --local     writes the reports
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { questionsAboutTypes } from "./api-unexported.mjs";
import "./checks/install.mjs";

const installed = createRequire(new URL("checks/package.json", import.meta.url));
const { Extractor, ExtractorConfig, ExtractorLogLevel } = installed("@microsoft/api-extractor");

const isLocal = process.argv.includes("--local");
const { name: packageName, exports } = JSON.parse(readFileSync("package.json", "utf8"));

const entries = Object.entries(exports)
  .filter(([, target]) => typeof target === "object")
  .map(([path, target]) => ({
    name: path === "." ? packageName : path.slice(2).replaceAll("/", "-"),
    types: target.types,
  }));

/** By entry point, the types that its declarations name and that it does not export. */
const forgotten = new Map(entries.map(({ name }) => [name, new Set()]));

mkdirSync("etc", { recursive: true });
const outdated = entries.filter((entry) => !isUpToDate(entry)).map(({ name }) => `etc/${name}.api.md`);
const leftOver = readdirSync("etc").filter((file) => !entries.some(({ name }) => file === `${name}.api.md`));
if (isLocal) for (const file of leftOver) rmSync(join("etc", file));

if (!isLocal && outdated.length + leftOver.length > 0) {
  for (const file of outdated) console.error(`${file} is not up to date.`);
  for (const file of leftOver) console.error(`etc/${file} belongs to no entry point.`);
  console.error("Check the changes of the public API, then write the reports with: npm run api");
  process.exitCode = 1;
}

const questions = questionsAboutTypes(forgotten, exportedNames());
for (const question of questions) console.error(question);
if (questions.length > 0) process.exitCode = 1;

/** The names that the reports say some entry point exports. */
function exportedNames() {
  const reports = entries.map(({ name }) => readFileSync(join("temp/api", `${name}.api.md`), "utf8"));
  return new Set(
    reports.flatMap((report) =>
      [
        ...report.matchAll(
          /^export (?:abstract )?(?:async )?(?:class|const|function|interface|type) (\w+)|^export \{ \w+ as (\w+) \}/gm,
        ),
      ].map(([, name, renamed]) => name ?? renamed),
    ),
  );
}

function isUpToDate({ name, types }) {
  if (!existsSync(types)) {
    console.error(`${types} does not exist; build first.`);
    process.exitCode = 1;
    return false;
  }
  const result = Extractor.invoke(configuration(name, types), {
    localBuild: isLocal,
    messageCallback: (message) => {
      if (message.messageId === "ae-forgotten-export") forgotten.get(name).add(/"(\w+)"/.exec(message.text)[1]);
      message.handled = message.logLevel !== ExtractorLogLevel.Error;
      if (!message.handled) process.exitCode = 1;
    },
  });
  return !result.apiReportChanged || isLocal;
}

function configuration(name, types) {
  const reported = { logLevel: "warning", addToApiReportFile: true };
  return ExtractorConfig.prepare({
    packageJsonFullPath: resolve("package.json"),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: resolve("."),
      mainEntryPointFilePath: resolve(types),
      newlineKind: "lf",
      compiler: { tsconfigFilePath: resolve("tsconfig.build.json") },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: resolve("etc"),
        reportTempFolder: resolve("temp/api"),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: "error" } },
        extractorMessageReporting: {
          default: reported,
          // They are not in the report: `questionsAboutTypes` asks about them.
          "ae-forgotten-export": { logLevel: "warning", addToApiReportFile: false },
          "ae-missing-release-tag": { logLevel: "none" },
          "ae-unresolved-link": { logLevel: "none" },
        },
        tsdocMessageReporting: { default: { logLevel: "none" } },
      },
    },
  });
}
