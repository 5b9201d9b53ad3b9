// Serves Spotlight's sidecar and its pages on 127.0.0.1 alone, and lets neither report to its makers.
//
//   node serve.mjs DIR PORT    DIR has the node_modules; port 0 is a free one
//
// When it is ready, Spotlight says "Spotlight listening on <port>". Should one answer there already, it
// ends.
//
// Spotlight's own command is no choice here: it listens on all interfaces, and it sends its use to
// sentry.io, as its pages do. Neither has a switch.
import { readFileSync } from "node:fs";
import { Server } from "node:net";
import { pathToFileURL } from "node:url";

const [dir, port] = process.argv.slice(2);
const dist = new URL("node_modules/@spotlightjs/spotlight/dist/", pathToFileURL(`${dir}/`));
const ui = new URL("ui/", dist);

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  const ready = rest.find((argument) => typeof argument === "function");
  return listen.call(this, { port, host: "127.0.0.1" }, ready);
};

// page is a file of the pages without the address that it reports to.
function page(name) {
  const file = readFileSync(new URL(name, ui));
  switch (name) {
    case "index.html":
      return changed(name, file, / https:\/\/\*\.sentry\.io/); // in the content security policy
    case "assets/instrumentation.js":
      return changed(name, file, /https:\/\/[0-9a-f]+@[\w.-]+\.sentry\.io\/\d+/); // no DSN, no reports
    default:
      return file;
  }
}

function changed(name, file, address) {
  const text = file.toString();
  if (!address.test(text)) {
    throw new Error(`Spotlight's ${name} is not the one that serve.mjs was written for: look where it reports to now`);
  }
  return Buffer.from(text.replace(address, ""));
}

const names = ["index.html"];
for (const entry of Object.values(JSON.parse(readFileSync(new URL("manifest.json", ui))))) {
  if (typeof entry.file === "string") names.push(entry.file);
}
const { setupSpotlight } = await import(new URL("server/main.js", dist));
await setupSpotlight({
  port: Number(port),
  filesToServe: Object.fromEntries(names.map((name) => [name, page(name)])),
  isStandalone: true,
});
