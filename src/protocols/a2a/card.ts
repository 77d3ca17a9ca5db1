/**
 * The agent card: describes an agent, its skills and its endpoint.
 */

/** The protocol version of the card and of the requests. */
const protocolVersion = "1.0";

export type A2aCard = {
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly {
    readonly id: string;
    readonly name: string;
    readonly description: string;
    readonly tags: readonly string[];
    readonly examples: readonly string[];
  }[];
  /** The address of the JSON-RPC endpoint. */
  readonly url: string;
};

/** Creates the card in the protocol's JSON format. */
export function createAgentCard({ name, description, version, skills, url }: A2aCard): object {
  return {
    name,
    description,
    version,
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion }],
    capabilities: { streaming: true, pushNotifications: false },
    securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ["text/plain", "application/json"],
    defaultOutputModes: ["text/plain", "application/json"],
    skills,
  };
}
