/**
 * The names of the tools that find and call deferred tools.
 */
export const findToolsName = "find_tools";
export const callToolName = "call_tool";
