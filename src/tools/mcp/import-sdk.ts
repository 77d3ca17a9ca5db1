/**
 * The MCP library. It is loaded when the first server is connected, because it need not be installed otherwise.
 */
import type * as Sdk from "@modelcontextprotocol/client";
import { PawlError } from "../../errors.js";

/** @throws PawlError `missing_package` */
export async function importSdk(): Promise<typeof Sdk> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      "MCP servers need the package @modelcontextprotocol/client, which could not be loaded. Install it: npm install @modelcontextprotocol/client",
      { cause },
    );
  }
}
