/**
 * The protocol's package, an optional peer dependency, which is loaded when an editor connects.
 */

import type * as Sdk from "@agentclientprotocol/sdk";
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../index.js";
import { importInstalledPackage } from "../../models/index.js";

export type AcpSdk = Pick<typeof Sdk, "agent" | "methods" | "ndJsonStream" | "PROTOCOL_VERSION" | "RequestError">;

/**
 * @param install the command that installs the package for this program
 * @throws PawlError `missing_package`
 */
export async function importAcpSdk(install = `npm install ${acpPackage}`): Promise<AcpSdk> {
  const sdk = (await importInstalledPackage(acpPackage)) as AcpSdk | undefined;
  if (sdk !== undefined) return sdk;
  throw new PawlError(
    "missing_package",
    `ACP needs the package ${acpPackage}, which is not installed. Install it: ${install}`,
  );
}

export const acpPackage = "@agentclientprotocol/sdk";

/** Converts an error to a protocol error. The editor shows its message to the person. */
export function toRequestError(sdk: AcpSdk, error: unknown): Error {
  if (error instanceof sdk.RequestError) return error;
  if (!(error instanceof PawlError)) return new sdk.RequestError(internalErrorCode, getErrorMessage(error));
  return new sdk.RequestError(rpcCodes.get(error.code) ?? internalErrorCode, error.message, { code: error.code });
}

const internalErrorCode = -32_603;
const invalidParamsCode = -32_602;
const notFoundCode = -32_002;

const rpcCodes: ReadonlyMap<string, number> = new Map([
  ["no_session", notFoundCode],
  ["bad_input", invalidParamsCode],
  ["bad_configuration", invalidParamsCode],
  ["not_storable", invalidParamsCode],
  ["root_mismatch", invalidParamsCode],
  ["agent_mismatch", invalidParamsCode],
]);
