/** Longest id that a client may choose, in characters: it becomes a key, a variable and a part of subjects. */
export const MAX_ID = 1_024;
/** Deepest nesting of what a client sends, as at the MCP endpoints: whatever walks it recurses. */
export const MAX_DEPTH = 64;
