/**
 * The package of the protocol, an optional peer: it is loaded when an editor is served.
 */
import type * as Sdk from "@agentclientprotocol/sdk";
import { PawlError } from "../../index.js";
import { importInstalledPackage } from "../../models/index.js";

export type AcpSdk = Pick<typeof Sdk, "agent" | "methods" | "ndJsonStream" | "PROTOCOL_VERSION" | "RequestError">;

/**
 * @param install the command that installs the package here
 * @throws PawlError `missing_package`
 */
export async function importAcpSdk(install = `npm install ${acpPackage}`): Promise<AcpSdk> {
  const found = (await importInstalledPackage(acpPackage)) as AcpSdk | undefined;
  if (found !== undefined) return found;
  throw new PawlError(
    "missing_package",
    `ACP needs the package ${acpPackage}, which is not installed. Install it: ${install}`,
  );
}

export const acpPackage = "@agentclientprotocol/sdk";

/** An error as the editor shows it. Its message is for a person. */
export function requestError(sdk: AcpSdk, error: unknown): Error {
  if (error instanceof sdk.RequestError) return error;
  if (!(error instanceof PawlError)) return new sdk.RequestError(internalError, messageOf(error));
  return new sdk.RequestError(codes.get(error.code) ?? internalError, error.message, { code: error.code });
}

const internalError = -32_603;
const invalidParameters = -32_602;
const notFound = -32_002;

const codes: ReadonlyMap<string, number> = new Map([
  ["no_session", notFound],
  ["bad_input", invalidParameters],
  ["bad_configuration", invalidParameters],
  ["not_storable", invalidParameters],
  ["root_mismatch", invalidParameters],
  ["agent_mismatch", invalidParameters],
]);

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
