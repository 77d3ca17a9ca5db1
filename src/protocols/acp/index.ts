/**
 * Durable sessions in an editor, over the Agent Client Protocol.
 */
export type { AcpAgent } from "./open-session.js";
export { acpPackage, importAcpSdk } from "./sdk.js";
export { type AcpHost, serveAcp } from "./serve-acp.js";
