import { defineConfig } from "vitest/config";
import { requirementsReporter } from "./test/requirements-reporter.js";

const inContinuousIntegration = process.env.CI !== undefined;

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/fixtures/**"],
    setupFiles: ["test/setup.ts"],
    pool: "forks",
    // Tests start real processes and write with real syncs; the limits only end what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    silent: "passed-only",
    reporters: [
      ["default", { summary: false }],
      requirementsReporter(),
      ...(inContinuousIntegration ? (["json"] as const) : []),
    ],
    outputFile: { json: "temp/tests.json" },
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text-summary", "html"] },
  },
});
