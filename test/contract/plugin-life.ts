/** The life of a plugin, in order: sentences of the page about the API. plugin-life.test.ts holds each. */
export const LIFE = {
  options:
    "Its options are checked first, by the schema in `config`. Where they are wrong, nothing of the plugin runs, and the error names their place.",
  order:
    "`setup` runs after that of each plugin whose service it injects; between others the name decides, never the order in the config.",
  setup:
    "`setup` registers what the plugin adds, and may wait for something before, for at most `timeouts.setup`. What it returns is the service that it provides.",
  sealed:
    "Once `setup` is over, what serves is settled: a route or hook that comes later is an error.",
  compile:
    "What all plugins registered is put together before anything serves. Where two of them clash, everything is undone, and what served before serves on.",
  start:
    "`onStart` runs in the same order, when all are set up. What it returns undoes it. A start that fails undoes those before it.",
  unchanged:
    "A reload leaves a plugin alone whose code, options and injected services are the same: none of its functions runs.",
  changed:
    "A plugin that changed is set up and started beside the old one. Requests go to the new one from one moment on; calls in flight end on the old one.",
  keep: "What `keep` holds lives through reloads of its plugin, and ends when the plugin leaves the config.",
  dispose:
    "At the end `onDispose` and what starts returned run, last registered first, each even if another throws. A plugin ends before those whose services it injects.",
  gone: "Everything that was registered leaves with the plugin: there is nothing to unregister.",
} as const;
