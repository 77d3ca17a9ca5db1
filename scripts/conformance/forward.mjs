/**
 * The program that the conformance suite starts for each scenario. It hands the scenario on to client.mjs:
 *
 *     node scripts/conformance/forward.mjs ADDRESS_OF_CLIENT URL
 */
const [client, url] = process.argv.slice(2);
const {
  MCP_CONFORMANCE_SCENARIO: scenario = "",
  MCP_CONFORMANCE_CONTEXT: context = "{}",
  MCP_CONFORMANCE_PROTOCOL_VERSION: version = "",
} = process.env;
const body = JSON.stringify({ url, scenario, context: JSON.parse(context), version });
const response = await fetch(client, { method: "POST", body });
process.stderr.write(await response.text());
process.exitCode = response.ok ? 0 : 1;
