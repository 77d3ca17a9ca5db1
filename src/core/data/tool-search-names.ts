/**
 * The tools through which a model finds deferred tools and calls them.
 */
export const findToolsName = "find_tools";
export const callToolName = "call_tool";
