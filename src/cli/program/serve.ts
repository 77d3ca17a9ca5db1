/**
 * The commands `pawl serve` and `pawl ui`, their options and their help. The server module is loaded when one of them runs.
 */
import type { ServeOptions } from "../commands/serve.js";
import type { UiOptions } from "../commands/ui.js";
import { type AddCommand, addModelOptions, addPermissionOptions, formatExamples, parsePort } from "./options.js";

export const addServe: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("serve")
    .description("serve sessions over HTTP: start, watch, steer, answer and abort them")
    .argument("[module]", "a module with agents (default: the agent of this folder)")
    .option("--port <number>", "the port; 0 takes any free one", parsePort, 4111)
    .option(
      "--host <address>",
      "the address to listen on; any but this machine's own requires your own token",
      "127.0.0.1",
    )
    .option("--socket <path>", "listen on a Unix socket instead")
    .option("--token-file <path>", "the file with the token (default: PAWL_TOKEN, else a new token)")
    .option("--client-options <names>", "run options that clients may set: model,settings.reasoning", parseList)
    .option("--no-work", "only read and post; a worker elsewhere executes the runs")
    .option("--no-ui", "do not serve the inspector page")
    .option("--peer-secret-file <path>", "the file with the secret that all processes of the server share (--peers)")
    .option("--peers <addresses>", "the addresses of the other processes; * matches any part of a name", parseList)
    .option(
      "--peer-address <address>",
      "the address at which they reach this process, for example http://10.0.0.5:4111",
    )
    .option("--root <folder>", "the folder to work on (default: the current folder)");
  addPermissionOptions(addModelOptions(command))
    .addHelpText(
      "after",
      `${formatExamples(
        "pawl serve",
        "pawl serve agents.js --port 8080 --token-file token.txt",
        'curl -H "Authorization: Bearer TOKEN" http://127.0.0.1:4111/v1/sessions',
      )}
Calls that need approval wait: pawl approvals, or GET /v1/approvals.
`,
    )
    .action(async (module: string | undefined, options: ServeOptions) => {
      const { serve } = await import("../commands/serve.js");
      finish(await serve(module, options, terminal));
    });
};

export const addUi: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("ui")
    .description(
      "open the inspector: a page that shows this machine's sessions live, where you can answer waiting calls",
    )
    .option("--open", "open it in a browser")
    .option("--port <number>", "the port; 0 takes any free one", parsePort, 4111)
    .option("--no-work", "only show and answer; a worker elsewhere executes the runs")
    .option("--root <folder>", "the folder to work on (default: the current folder)");
  addPermissionOptions(addModelOptions(command))
    .addHelpText(
      "after",
      `${formatExamples("pawl ui", "pawl ui --open", "pawl ui --port 0 --no-work")}
It prints a link that signs in one browser and expires after 10 minutes. Run it
again for another browser: it reuses a running server, including pawl serve.
`,
    )
    .action(async (options: UiOptions) => {
      const { ui } = await import("../commands/ui.js");
      finish(await ui(options, terminal));
    });
};

function parseList(text: string): readonly string[] {
  return text.split(",").map((one) => one.trim());
}
