/**
 * How tests run on a mutant: the file that PAWL_MUTANT names has its defect when it is loaded. Used by scripts/mutants.mjs.
 */
import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

const root = resolve(import.meta.dirname, "..");
const { file, find, replace } = JSON.parse(process.env.PAWL_MUTANT ?? "{}");
const target = file === undefined ? undefined : resolve(root, file);

// biome-ignore lint/style/noDefaultExport: Vitest takes the default export.
export default defineConfig({
  root,
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform: (code, id) => (id === target ? { code: code.replace(find, () => replace), map: null } : undefined),
    },
  ],
  test: {
    setupFiles: ["test/setup.ts"],
    pool: "forks",
    maxWorkers: 1,
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    env: { PAWL_TESTS: "quick" },
    bail: 1,
  },
});
