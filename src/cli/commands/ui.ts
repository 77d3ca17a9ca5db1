/**
 * `pawl ui`: the inspector, a page with the sessions of this machine. A running server is used if there is one. Otherwise
 * the command starts one, as `pawl serve` does.
 */
import { spawn } from "node:child_process";
import { exitCodes } from "../exit.js";
import { resolveHome } from "../files/store-location.js";
import { fetchRunningServerLink } from "../server/running-server.js";
import type { Terminal } from "../terminal/terminal.js";
import { type ServeOptions, serve } from "./serve.js";

export type UiOptions = Omit<ServeOptions, "host"> & { readonly open?: true };

export async function ui(options: UiOptions, terminal: Terminal): Promise<number> {
  const printLink = (link: string) => {
    if (options.open === true) openInBrowser(link);
    // Only the link goes to standard output, so that another program can read it.
    terminal.err("The inspector. The link signs in one browser, within 10 minutes:\n");
    terminal.out(`${link}\n`);
  };
  const link = await fetchRunningServerLink(resolveHome(process.env), process.env.PAWL_STORE);
  if (link !== null) {
    printLink(link);
    return exitCodes.done;
  }
  return serve(undefined, { ...options, host: "127.0.0.1" }, terminal, (started) => {
    printLink(started);
    terminal.err("Ctrl-C stops it.\n");
  });
}

const browserCommands: { readonly [platform: string]: readonly [command: string, ...args: readonly string[]] } = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Errors are ignored: without a browser, the link is still on the terminal. */
function openInBrowser(link: string): void {
  const [command, ...args] = browserCommands[process.platform] ?? ["xdg-open"];
  const child = spawn(command, [...args, link], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
