/**
 * The commands `pawl mcp`: serve the agent to MCP clients, and manage the MCP servers whose tools the agent has.
 */
import type { Command } from "commander";
import type { McpCommandOptions } from "../commands/mcp.js";
import { type AddCommand, addModelOptions, addPermissionOptions, formatExamples, parsePort } from "./options.js";

const collectOption = (value: string, all: readonly string[] = []): readonly string[] => [...all, value];

/** The syntax of a variable in a servers file. */
const formatVariable = (name: string) => `$\{${name}}`;

/** @param version the version of the program */
export const addMcp =
  (version: string): AddCommand =>
  (program, terminal, finish) => {
    const command = program
      .command("mcp")
      .description("serve the agent as a tool to MCP clients, over standard input and output; or manage MCP servers");
    addPermissionOptions(addModelOptions(command))
      .option("--root <folder>", "the folder to work on (default: the current folder)")
      .addHelpText(
        "after",
        formatExamples(
          "pawl mcp --root ../site",
          "pawl mcp add docs -- npx -y @acme/docs-mcp@1.4.2",
          "pawl mcp list",
          "pawl mcp test docs",
        ),
      )
      .action(async (options: McpCommandOptions) => {
        const { mcp } = await import("../commands/mcp.js");
        finish(await mcp(options, version, terminal));
      });
    const addSubcommand = (name: string, description: string) =>
      command
        .command(name)
        .description(description)
        .option("--root <folder>", "the folder (default: the current folder)")
        .option("--json", "print the outcome as JSON");
    addSubcommand("add", "add an MCP server for yourself, in all folders: a program with its arguments, or an address")
      .argument("<name>", "its name; its tools are then mcp__NAME__TOOL")
      .argument("<command...>", "the program and its arguments, after --; or an address")
      .option("--folder", "add it to the folder's .mcp.json instead, for all who work on it")
      .option(
        "--env <name=value>",
        `an environment variable of the program; ${formatVariable("NAME")} is replaced by your own variable`,
        collectOption,
      )
      .option(
        "--header <name=value>",
        `a header for the address; ${formatVariable("NAME")} is replaced by your environment variable`,
        collectOption,
      )
      .addHelpText(
        "after",
        formatExamples(
          "pawl mcp add docs -- npx -y @acme/docs-mcp@1.4.2",
          `pawl mcp add web https://mcp.acme.dev/mcp --header 'X-Key=${formatVariable("ACME_KEY")}'`,
        ),
      )
      .action(async (name: string, words: readonly string[], _: unknown, self: Command) => {
        const { add } = await import("../commands/mcp-servers.js");
        finish(add(name, words, self.optsWithGlobals(), terminal));
      });
    addSubcommand("list", "list the MCP servers, where each is configured, and which are off")
      .addHelpText("after", formatExamples("pawl mcp list", "pawl mcp list --json"))
      .action(async (_: unknown, self: Command) => {
        const { list } = await import("../commands/mcp-servers.js");
        finish(await list(self.optsWithGlobals(), terminal));
      });
    addSubcommand("test", "start an MCP server, list its tools, and stop it")
      .argument("<name>", "its name")
      .addHelpText("after", formatExamples("pawl mcp test docs"))
      .action(async (name: string, _: unknown, self: Command) => {
        const { test } = await import("../commands/mcp-servers.js");
        finish(await test(name, self.optsWithGlobals(), terminal));
      });
    addSubcommand("remove", "remove an MCP server")
      .argument("<name>", "its name")
      .option("--folder", "remove it from the folder's .mcp.json")
      .addHelpText("after", formatExamples("pawl mcp remove docs"))
      .action(async (name: string, _: unknown, self: Command) => {
        const { remove } = await import("../commands/mcp-servers.js");
        finish(remove(name, self.optsWithGlobals(), terminal));
      });
    addSubcommand("login", "log in to an MCP server: prints the address of its login page and waits for you")
      .argument("<name>", "its name")
      .option("--port <number>", "the local port that the browser is redirected to (default: any free port)", parsePort)
      .option("--scope <scopes>", "the scopes to request if the server names none")
      .addHelpText("after", formatExamples("pawl mcp login web", "pawl mcp login web --port 8976"))
      .action(async (name: string, _: unknown, self: Command) => {
        const { login } = await import("../commands/mcp-login.js");
        finish(await login(name, self.optsWithGlobals(), terminal));
      });
    addSubcommand("logout", "delete the stored login to an MCP server")
      .argument("<name>", "its name")
      .addHelpText("after", formatExamples("pawl mcp logout web"))
      .action(async (name: string, _: unknown, self: Command) => {
        const { logout } = await import("../commands/mcp-login.js");
        finish(await logout(name, self.optsWithGlobals(), terminal));
      });
  };
