// Rewrites a config: without pause until killed, or once, printing how it failed. Started by write.long.test.ts.
const [module, file, once] = process.argv.slice(2);
const { draftConfig } = await import(module);
const edit = async (count) =>
  (await draftConfig(file, [{ path: ["servers", "a", "timeout"], value: `${count}s` }])).write();
if (once) await edit(1).catch((error) => process.stdout.write(`${error.code} ${error.message}\n`));
else {
  process.send("ready");
  for (let count = 0; ; count++) await edit(count);
}
