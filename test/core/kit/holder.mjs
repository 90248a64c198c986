// Takes the lock of a file when it is told to; says whether it has it. Started by lock.long.test.ts.
const [module, file] = process.argv.slice(2);
const { lockFile } = await import(module);
process.send({ ready: true });
process.on("message", () => void take());

async function take() {
  try {
    await lockFile(file);
    process.send({ held: true });
  } catch ({ code, message, data }) {
    process.send({ held: false, code, message, data });
  }
}
