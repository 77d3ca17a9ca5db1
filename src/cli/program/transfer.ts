/**
 * The commands that move sessions between stores: `pawl sessions export` and `pawl sessions import`.
 */
import type { ExportOptions } from "../commands/transfer.js";
import { type AddCommand, formatExamples } from "./options.js";

export const addTransfer: AddCommand = (sessions, terminal, finish) => {
  sessions
    .command("export")
    .description("print the log of a session as JSON, one entry per line, with secrets redacted")
    .argument("[id...]", "the session's id or a prefix of it")
    .option("--raw", "print a complete copy for pawl sessions import, with keys and passwords in it")
    .option("--all", "export every session (only with --raw)")
    .option("--json", "no effect: the log is always JSON")
    .addHelpText(
      "after",
      formatExamples(
        "pawl sessions export 3f8c > log.jsonl",
        "pawl sessions export --raw 3f8c > copy.jsonl",
        "pawl sessions export --raw --all | pawl sessions import --store ADDRESS",
      ),
    )
    .action(async (ids: readonly string[], options: ExportOptions) => {
      const { exportLogs } = await import("../commands/transfer.js");
      finish(await exportLogs(ids, options, terminal));
    });
  sessions
    .command("import")
    .description("import exported sessions into this store; after an interruption, the same command continues")
    .argument("[file]", "the output of pawl sessions export --raw (default: read from standard input)")
    .option("--json", "print how much was imported as JSON")
    .addHelpText(
      "after",
      `${formatExamples(
        "pawl sessions import copy.jsonl",
        "pawl sessions export --raw --all | pawl sessions import --store ADDRESS",
      )}
Exit codes: 0 imported; 2 usage, a file that is not an export, or a session that
exists; 5 the store failed.
`,
    )
    .action(async (file: string | undefined, _: unknown, self) => {
      const { importFile } = await import("../commands/transfer.js");
      finish(await importFile(file, self.optsWithGlobals(), terminal));
    });
};
