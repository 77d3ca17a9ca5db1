/**
 * The commands for operators of a PostgreSQL store: `pawl postgres migrate` and `pawl postgres grants`.
 */
import type { MigrateOptions } from "../commands/postgres.js";
import { type AddCommand, formatExamples } from "./options.js";

export const addPostgres: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("postgres")
    .description("create and check the tables of a PostgreSQL store")
    .addHelpText(
      "after",
      formatExamples(
        "pawl postgres migrate --store postgres://owner@host/database",
        "pawl postgres grants worker | psql postgres://owner@host/database",
      ),
    );
  command
    .command("migrate")
    .description("create or upgrade the tables, as a role that is allowed to")
    .option("--json", "print the versions before and after as JSON")
    .addHelpText("after", formatExamples("pawl postgres migrate --store postgres://owner@host/database"))
    .action(async (options: MigrateOptions) => {
      const { migrate } = await import("../commands/postgres.js");
      finish(await migrate(options, terminal));
    });
  command
    .command("grants")
    .description("print the statements that let a role use the tables")
    .argument("<role>", "the role that your agent processes log in as")
    .addHelpText("after", formatExamples("pawl postgres grants worker | psql postgres://owner@host/database"))
    .action(async (role: string) => {
      const { grants } = await import("../commands/postgres.js");
      finish(grants(role, terminal));
    });
};
