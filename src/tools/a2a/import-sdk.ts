/**
 * The A2A library. It is loaded when the first agent is connected, because it need not be installed otherwise.
 */
import type * as Sdk from "@a2a-js/sdk";
import type * as SdkClient from "@a2a-js/sdk/client";
import type * as SdkErrors from "@a2a-js/sdk/errors";
import { PawlError } from "../../errors.js";

export type A2aSdk = {
  readonly enums: Pick<typeof Sdk, "Role" | "TaskState">;
  readonly client: Pick<typeof SdkClient, "ClientFactory" | "DefaultAgentCardResolver" | "JsonRpcTransportFactory">;
  readonly errors: Pick<typeof SdkErrors, "TaskNotFoundError">;
};

/** @throws PawlError `missing_package` */
export async function importSdk(): Promise<A2aSdk> {
  try {
    const [enums, client, errors] = await Promise.all([
      import("@a2a-js/sdk"),
      import("@a2a-js/sdk/client"),
      import("@a2a-js/sdk/errors"),
    ]);
    return { enums, client, errors };
  } catch (cause) {
    throw new PawlError(
      "missing_package",
      "A2A agents need the package @a2a-js/sdk, which could not be loaded. Install it: npm install @a2a-js/sdk",
      { cause },
    );
  }
}
