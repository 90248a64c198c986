import {
  call,
  calls,
  chunk,
  completion,
  cut,
  DONE,
  pieces,
  said,
  stream,
  whole,
  type Quirk,
} from "./quirk.ts";

const READ_X = calls('read {"path":"x"}');
const BOTH = calls('read {"path":"x"}', 'list {"dir":"y"}');
const X = '{"path":"x"}';
const Y = '{"dir":"y"}';
const TOOLS = { finish: "tool_calls" };
const LIST = "files__list";

/** Two calls, with these members each. */
function two(first: object, second: object) {
  return { tool_calls: [call(X, { ...first }), call(Y, { ...second }, LIST)] };
}

/** How calls are told apart. */
export const CALL_QUIRKS: readonly Quirk[] = [
  said("no index", two({ id: "a" }, { id: "b" }), BOTH, TOOLS),
  said("the same index", two({ id: "a", index: 0 }, { id: "b", index: 0 }), BOTH, TOOLS),
  pieces(
    "the same index in chunks of their own",
    two({ id: "a", index: 0 }, { id: "b", index: 0 }),
    [
      { tool_calls: [call(X, { id: "a", index: 0 })] },
      { tool_calls: [call(Y, { id: "b", index: 0 }, LIST)] },
    ],
    BOTH,
    TOOLS,
  ),
  pieces(
    "indexes out of order",
    { tool_calls: [call(Y, { id: "b", index: 1 }, LIST), call(X, { id: "a", index: 0 })] },
    [
      { tool_calls: [call(Y, { id: "b", index: 1 }, LIST)] },
      { tool_calls: [call(X, { id: "a", index: 0 })] },
    ],
    BOTH,
    TOOLS,
  ),
  said("an index as text", two({ id: "a", index: "0" }, { id: "b", index: "1" }), BOTH, TOOLS),
  said(
    "an index that is null",
    two({ id: "a", index: null }, { id: "b", index: null }),
    BOTH,
    TOOLS,
  ),
  said("finish_reason stop with calls", two({ id: "a", index: 0 }, { id: "b", index: 1 }), BOTH),
  said("two calls with one id", two({ id: "a" }, { id: "a" }), BOTH, TOOLS),
  pieces(
    "two calls of one tool with one id and one index",
    { tool_calls: [call(X, { id: "a" }), call('{"path":"y"}', { id: "a" })] },
    [
      { tool_calls: [call(X, { id: "a", index: 0 })] },
      { tool_calls: [call('{"path":"y"}', { id: "a", index: 0 })] },
    ],
    calls('read {"path":"x"}', 'read {"path":"y"}'),
    TOOLS,
  ),
  said(
    "two equal calls without index",
    { tool_calls: [call(X), call(X)] },
    calls('read {"path":"x"}', 'read {"path":"x"}'),
    TOOLS,
  ),
  pieces(
    "one call sent twice, index and id and all",
    { tool_calls: [call(X, { index: 0 }), call(X, { index: 0 })] },
    [{ tool_calls: [call(X, { index: 0 })] }, { tool_calls: [call(X, { index: 0 })] }],
    READ_X,
    TOOLS,
  ),
  said("ids that are empty", two({ id: "" }, { id: "" }), BOTH, TOOLS),
  said("ids that are null", two({ id: null }, { id: null }), BOTH, TOOLS),
  said("no ids", two({ id: undefined }, { id: undefined }), BOTH, TOOLS),
  said("ids that are numbers", two({ id: 7 }, { id: 7 }), BOTH, TOOLS),
  pieces(
    "another id in every chunk",
    two({ id: "a" }, { id: "b" }),
    [
      { tool_calls: [call("", { id: "r1", index: 0 })] },
      { tool_calls: [{ id: "r2", index: 0, function: { arguments: X } }] },
      { tool_calls: [call("", { id: "r3", index: 1 }, LIST)] },
      { tool_calls: [{ id: "r4", index: 1, function: { arguments: Y } }] },
    ],
    BOTH,
    TOOLS,
  ),
  pieces(
    "pieces of two calls, mixed",
    two({ id: "a" }, { id: "b" }),
    [
      { tool_calls: [call("", { id: "a", index: 0 }), call("", { id: "b", index: 1 }, LIST)] },
      { tool_calls: [{ index: 1, function: { arguments: Y.slice(0, 4) } }] },
      { tool_calls: [{ index: 0, function: { arguments: X } }] },
      { tool_calls: [{ index: 1, function: { arguments: Y.slice(4) } }] },
    ],
    BOTH,
    TOOLS,
  ),
  pieces(
    "pieces that have an id and no index",
    two({ id: "a" }, { id: "b" }),
    [
      { tool_calls: [call("", { id: "a" }), call("", { id: "b" }, LIST)] },
      {
        tool_calls: [
          { id: "a", function: { arguments: X } },
          { id: "b", function: { arguments: Y } },
        ],
      },
    ],
    BOTH,
    TOOLS,
  ),
  pieces(
    "a name in two chunks",
    { tool_calls: [call(X)] },
    cut({ id: "c1", function: { name: "files__" } }, "").concat([
      { tool_calls: [{ index: 0, function: { name: "read", arguments: X } as never }] },
    ]),
    READ_X,
    TOOLS,
  ),
  pieces(
    "a name in every chunk",
    { tool_calls: [call(X)] },
    [X.slice(0, 5), X.slice(5)].map((each) => ({ tool_calls: [call(each, { index: 0 })] })),
    READ_X,
    TOOLS,
  ),
  pieces(
    "a name in every chunk, without id and index",
    { tool_calls: [call(X, { id: undefined })] },
    [X.slice(0, 5), X.slice(5)].map((each) => ({ tool_calls: [call(each, { id: undefined })] })),
    READ_X,
    TOOLS,
  ),
  pieces(
    "a name behind its arguments",
    { tool_calls: [call(X)] },
    cut({ id: "c1", function: { arguments: X } }).concat([
      { tool_calls: [{ index: 0, function: { name: "files__read" } as never }] },
    ]),
    READ_X,
    TOOLS,
  ),
  said(
    "no name",
    { tool_calls: [{ id: "c1", index: 0, function: { arguments: X } }] },
    {
      ...calls(),
      told: ['There is no tool "call_without_a_name". Tools: files__read, files__list.'],
    },
    TOOLS,
  ),
  said(
    "an empty name",
    { tool_calls: [call(X, {}, ""), call(Y, { id: "c2" }, LIST)] },
    {
      ...calls('list {"dir":"y"}'),
      told: ['There is no tool "call_without_a_name". Tools: files__read, files__list.'],
    },
    TOOLS,
  ),
  said(
    "a name that no tool has",
    { tool_calls: [call(X, {}, "files__gone")] },
    {
      ...calls(),
      told: ['There is no tool "files__gone". Tools: files__read, files__list.'],
    },
    TOOLS,
  ),
  said("no type", { tool_calls: [call(X, { type: undefined })] }, READ_X, TOOLS),
  said("an empty type", { tool_calls: [call(X, { type: "" })] }, READ_X, TOOLS),
  said(
    "a call without the level of function",
    { tool_calls: [{ id: "c1", name: "files__read", arguments: X }] },
    READ_X,
    TOOLS,
  ),
  said(
    "tool_calls that are null",
    { content: "Yes.", tool_calls: null },
    { text: "Yes.", end: "finished" },
  ),
  said(
    "tool_calls that are empty",
    { content: "Yes.", tool_calls: [] },
    { text: "Yes.", end: "finished" },
    TOOLS,
  ),
  said("tool_calls that are one map", { tool_calls: call(X) }, READ_X, TOOLS),
  said(
    "the function_call of before",
    { content: null, function_call: { name: "files__read", arguments: X } },
    READ_X,
    { finish: "function_call" },
  ),
  pieces(
    "the function_call of before, in pieces",
    { function_call: { name: "files__read", arguments: X } },
    [
      { function_call: { name: "files__read", arguments: "" } },
      { function_call: { arguments: X.slice(0, 3) } },
      { function_call: { arguments: X.slice(3) } },
    ],
    READ_X,
    { finish: "function_call" },
  ),
  said(
    "function_call and tool_calls for one call",
    { function_call: { name: "files__read", arguments: X }, tool_calls: [call(X)] },
    READ_X,
    TOOLS,
  ),
  {
    what: "a call with the signature of a thought (Gemini)",
    whole: whole(
      completion(
        { tool_calls: [call(X, { extra_content: { google: { thought_signature: "S" } } })] },
        TOOLS,
      ),
    ),
    streamed: stream(
      chunk(
        {
          tool_calls: [
            call(X, { index: 0, extra_content: { google: { thought_signature: "S" } } }),
          ],
        },
        TOOLS,
      ),
      DONE,
    ),
    comes: READ_X,
  },
];
