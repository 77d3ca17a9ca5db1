/**
 * The golden logs of the durable format, in test/golden:
 *
 *     npm run golden                   records those of the present code again
 *     npm run golden -- --release      keeps them as those of the version in package.json, in test/golden/released
 *
 * What a release wrote is never recorded again. See docs/decisions/0011-golden-logs-hold-the-format.md.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = "test/golden";

if (process.argv[2] === "--release") keep(JSON.parse(readFileSync("package.json", "utf8")).version);
else {
  const { status } = spawnSync("npx", ["vitest", "run", "test/golden"], {
    env: { ...process.env, PAWL_GOLDEN: "record" },
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}

function keep(version) {
  const to = join(folder, "released", version);
  mkdirSync(to, { recursive: true });
  const formats = readdirSync(folder).filter((name) => /^v\d+$/.test(name));
  for (const format of formats)
    for (const file of readdirSync(join(folder, format))) {
      const recording = JSON.parse(readFileSync(join(folder, format, file), "utf8"));
      writeFileSync(join(to, file), `${JSON.stringify(recording)}\n`);
    }
  console.log(`The golden logs of ${version} are in ${to}.`);
}
