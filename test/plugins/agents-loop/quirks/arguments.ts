import { call, calls, cut, pieces, said, told, type Quirk } from "./quirk.ts";

const READ_X = calls('read {"path":"x"}');
const X = '{"path":"x"}';
const TOOLS = { finish: "tool_calls" };
const LIST = "files__list";

/** How arguments are written. */
export const ARGUMENT_QUIRKS: readonly Quirk[] = [
  said("arguments that are a map", { tool_calls: [call({ path: "x" })] }, READ_X, TOOLS),
  said("arguments that are an empty map", { tool_calls: [call({})] }, calls("read {}"), TOOLS),
  said("arguments that are null", { tool_calls: [call(null)] }, calls("read {}"), TOOLS),
  said("no arguments", { tool_calls: [call(undefined)] }, calls("read {}"), TOOLS),
  said("arguments that are an empty text", { tool_calls: [call("")] }, calls("read {}"), TOOLS),
  said("arguments that are blank", { tool_calls: [call(" \n")] }, calls("read {}"), TOOLS),
  said("arguments that are the text null", { tool_calls: [call("null")] }, calls("read {}"), TOOLS),
  said(
    "arguments that are an empty list (PHP)",
    { tool_calls: [call([])] },
    calls("read {}"),
    TOOLS,
  ),
  said(
    "arguments that are a list",
    { tool_calls: [call([{ path: "x" }])] },
    told("The arguments are not a JSON object."),
    TOOLS,
  ),
  said("arguments with white space around", { tool_calls: [call(`\n ${X}\n`)] }, READ_X, TOOLS),
  said(
    "arguments with text behind",
    { tool_calls: [call(`${X}</tool_call>`)] },
    told("The arguments are invalid JSON."),
    TOOLS,
  ),
  said(
    "arguments twice in one text",
    { tool_calls: [call(X + X)] },
    told("The arguments are invalid JSON."),
    TOOLS,
  ),
  said("arguments encoded twice", { tool_calls: [call(JSON.stringify(X))] }, READ_X, TOOLS),
  said(
    "arguments with numbers of 64 bits, as a map",
    { tool_calls: [{ ...call(null), function: { name: "files__read", arguments: { id: "@" } } }] },
    calls('read {"id":1234567890123456789}'),
    TOOLS,
  ),
  said(
    "arguments that were cut off",
    { tool_calls: [call('{"path":"x')] },
    { ...told("The arguments are invalid JSON.") },
    { finish: "length" },
  ),
  said(
    "arguments that were cut off before their first character",
    { tool_calls: [call(X), call("", { id: "c2" }, LIST)] },
    told("The arguments are invalid JSON.", 'read {"path":"x"}'),
    { finish: "length" },
  ),
  pieces(
    "arguments character by character",
    { tool_calls: [call(X)] },
    cut(call(""), ...Array.from(X)),
    READ_X,
    TOOLS,
  ),
  pieces(
    "arguments with pieces that are null",
    { tool_calls: [call(X)] },
    cut(call(null), null, X, null),
    READ_X,
    TOOLS,
  ),
].map((quirk) => withBigNumber(quirk));

/** JSON.stringify cannot write such a number. */
function withBigNumber(quirk: Quirk): Quirk {
  const fill = (reply: Quirk["whole"]): Quirk["whole"] => ({
    ...reply,
    body: (reply.body as string).replaceAll('"@"', "1234567890123456789"),
  });
  return { ...quirk, whole: fill(quirk.whole), streamed: fill(quirk.streamed) };
}
