// Fills the home page's widgets. Everything that comes from the database is set as text.
"use strict";

(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const SVG = "http://www.w3.org/2000/svg";

  // el makes an element: el("td", "num", "1.5") or el("tr", "", td, td).
  function el(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children.map((c) => (c === null || c === undefined ? "" : c)));
    return node;
  }

  const number = new Intl.NumberFormat("en-US");
  const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
  const price = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const money = (v) => (v === null ? "–" : compact.format(v));
  const cash = (v) => (v === null ? "–" : price.format(v));
  const day = (iso) => new Date(iso).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

  function change(v) {
    if (v === null) return el("span", "muted", "–");
    const sign = v > 0 ? "+" : "";
    return el("span", v > 0 ? "up" : v < 0 ? "down" : "muted", `${sign}${price.format(v)} %`);
  }

  // table makes rows of cells; a heading that begins with > is of a column of numbers.
  function table(headings, rows) {
    const head = el("tr", "", ...headings.map((h) => el("th", h.startsWith(">") ? "num" : "", h.replace(/^>/, ""))));
    const body = rows.map((cells) => el("tr", "", ...cells.map((c, i) => el("td", headings[i].startsWith(">") ? "num" : "", c))));
    return el("div", "scroll", el("table", "", el("thead", "", head), el("tbody", "", ...body)));
  }

  function kind(k) { return el("span", `kind ${k}`, k); }
  function ticker(t) {
    const a = el("a", "ticker", t);
    a.href = `/?ticker=${encodeURIComponent(t)}`;
    return a;
  }

  function chart(points) {
    const w = 600, h = 170, pad = 6;
    const values = points.map((p) => Number(p.close));
    const low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
    const x = (i) => (i / Math.max(1, points.length - 1)) * w;
    const y = (v) => h - pad - ((v - low) / span) * (h - 2 * pad);
    const line = values.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", "chart");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Closing price from ${values[0]} to ${values.at(-1)}`);
    for (const [d, c] of [[`${line}L${w} ${h}L0 ${h}Z`, "area"], [line, "line"]]) {
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", d);
      path.setAttribute("class", c);
      svg.append(path);
    }
    return el("div", "", svg, el("p", "axis", el("span", "", day(points[0].day)),
      el("span", "", `low ${cash(low)} · high ${cash(high)}`), el("span", "", day(points.at(-1).day))));
  }

  const shown = () => $("#ticker").value;

  // action makes a button that changes the widget's data and loads it again.
  function action(text, title, method, endpoint, body) {
    const button = el("button", "action", text);
    button.type = "button";
    button.title = title;
    button.setAttribute("aria-label", title);
    button.addEventListener("click", async () => {
      button.disabled = true;
      const widget = button.closest(".widget");
      const path = $("#widgets").dataset.path;
      const init = body ? { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : { method };
      try {
        const response = await fetch(path ? `${endpoint}?path=${path}` : endpoint, init);
        if (!response.ok) throw new Error((await response.json()).message);
        await load(widget, path);
      } catch (error) {
        button.replaceWith(el("span", "problem", error.message));
      }
    });
    return button;
  }

  const filingRows = (rows) => rows.map((f) => [day(f.filed_at), f.insider_name, kind(f.kind), number.format(f.shares), money(f.value),
    el("span", "flags", f.late ? el("abbr", "late", "late") : "", f.plan ? el("abbr", "plan", "plan") : "")]);

  const draw = {
    company({ company, quote }) {
      const fact = (k, v) => el("div", "", el("dt", "", k), el("dd", "", v));
      return [
        el("p", "headline", el("strong", "", company.name), el("span", "muted", ` ${quote.sector}, ${company.city} (${company.country})`)),
        el("p", "price", cash(quote.close), " ", change(quote.change_pct)),
        el("dl", "facts", fact("Market cap", money(quote.market_cap)), fact("Volume", money(quote.volume)),
          fact("Employees", number.format(company.employees)), fact("Listed", company.listed_on.slice(0, 4))),
      ];
    },
    prices: (points) => [chart(points)],
    filings: ({ rows }) => [table(["Filed", "Insider", "Kind", ">Shares", ">Value", ""], filingRows(rows))],
    pulse(p) {
      const stat = (k, v, c) => el("div", c, el("dt", "", k), el("dd", "", number.format(v)));
      const l = p.latest;
      return [
        el("dl", "stats", stat("buys", p.buys, "buy"), stat("sells", p.sells, "sell"), stat("planned sales", p.planned_sales, ""), stat("filed late", p.late, "")),
        el("p", "muted", "Latest: ", ticker(l.ticker), ` ${l.insider_name}, `, kind(l.kind), ` of ${number.format(l.shares)} shares`),
      ];
    },
    movers({ rows }) {
      return [table(["", "Company", ">Close", ">Change"], rows.map((q) => [ticker(q.ticker), q.name, cash(q.close), change(q.change_pct)]))];
    },
    sectors(rows) {
      const most = Math.max(...rows.map((r) => Math.max(r.bought, r.sold)));
      const bars = (r) => {
        const pair = el("span", "bars");
        for (const k of ["bought", "sold"]) {
          const bar = el("i", k);
          bar.style.width = `${(100 * r[k]) / most}%`;
          bar.title = `${k} ${money(r[k])}`;
          pair.append(bar);
        }
        return pair;
      };
      return [table(["Sector", "bought, sold", ">Bought", ">Sold"], rows.map((r) => [r.name, bars(r), money(r.bought), money(r.sold)]))];
    },
    "large-trades"({ rows, total, min_value }) {
      return [
        table(["Filed", "", "Insider", "Kind", ">Value"], rows.map((f) => [day(f.filed_at), ticker(f.ticker), f.insider_name, kind(f.kind), money(f.value)])),
        el("p", "muted", `${rows.length} of ${number.format(total)} from ${money(min_value)} up`),
      ];
    },
    "top-insiders"({ rows }) {
      return [table(["Insider", "", ">Shares", ">Value"], rows.map((h) => [
        el("span", "", h.full_name, el("small", "", h.title)), ticker(h.ticker), money(h.shares), money(h.value)]))];
    },
    watchlists({ rows }) {
      return rows.flatMap((l) => [
        el("h3", "", l.title, el("span", l.is_public ? "tag" : "tag private", l.is_public ? "public" : "yours"),
          l.is_public || l.items.some((i) => i.ticker === shown()) ? ""
            : action(`+ ${shown()}`, `Put ${shown()} on ${l.title}`, "POST", `/api/watchlists/${l.id}/items`, { ticker: shown() })),
        table(["", "", ">Close", ">Change", ""], l.items.map((i) => [
          ticker(i.ticker), el("span", "muted", i.note || ""), cash(i.quote && i.quote.close), change(i.quote && i.quote.change_pct),
          l.is_public ? "" : action("×", `Take ${i.ticker} off ${l.title}`, "DELETE", `/api/watchlists/${l.id}/items/${i.ticker}`)])),
      ]);
    },
  };

  // timings reads the header X-Database-Times: [{name, ms}], the first being the sum.
  function timings(header) {
    return (header || "").split(",").map((part) => {
      const [name, ...params] = part.trim().split(";");
      const dur = params.map((p) => p.trim()).find((p) => p.startsWith("dur="));
      return { name, ms: dur ? Number(dur.slice(4)) : 0 };
    }).filter((t) => t.name);
  }

  const pathLabel = { rest: "REST", direct: "direct" };
  const ms = (v) => `${v.toFixed(1)} ms`;

  function foot(widget, response) {
    const path = response.headers.get("X-Access-Path");
    const calls = Number(response.headers.get("X-Database-Calls") || 0);
    const [sum, ...phases] = timings(response.headers.get("X-Database-Times"));
    const footer = $("footer", widget);
    footer.replaceChildren();
    if (!path || !sum) return null;
    const badge = el("b", `badge ${path}`, pathLabel[path]);
    badge.title = `reason: ${response.headers.get("X-Access-Reason")}`;
    const strip = el("span", "strip");
    for (const p of phases) {
      const part = el("i", `ph ph-${p.name.replaceAll("+", "-")}`);
      part.style.flexGrow = String(p.ms);
      part.title = `${p.name} ${ms(p.ms)}`;
      strip.append(part);
    }
    footer.append(badge, el("span", "ms", ms(sum.ms)), el("span", "calls", calls === 1 ? "1 call" : `${calls} calls`), strip);
    return { path, calls, ms: sum.ms };
  }

  async function load(widget, path) {
    const url = new URL(widget.dataset.endpoint, location.href);
    if (path) url.searchParams.set("path", path);
    widget.dataset.state = "loading";
    const content = $(".content", widget);
    try {
      const response = await fetch(url, { headers: { Accept: "application/json" } });
      const body = await response.json();
      if (!response.ok) throw new Error([body.message, body.hint].filter(Boolean).join(". "));
      content.replaceChildren(...draw[widget.dataset.widget](body));
      const told = foot(widget, response);
      widget.dataset.path = told ? told.path : "";
      widget.dataset.state = "done";
      return told;
    } catch (error) {
      content.replaceChildren(el("p", "problem", error.message));
      $("footer", widget).replaceChildren();
      widget.dataset.state = "failed";
      return null;
    }
  }

  // totals shows the database time of the last full load on each path.
  const last = {};
  function totals(results) {
    const paths = new Set(results.map((r) => r && r.path));
    if (paths.size === 1 && !paths.has(null)) {
      const [path] = paths;
      last[path] = { ms: results.reduce((sum, r) => sum + r.ms, 0), calls: results.reduce((sum, r) => sum + r.calls, 0) };
    }
    const most = Math.max(...Object.values(last).map((t) => t.ms));
    for (const [path, t] of Object.entries(last)) {
      const row = $(`[data-total="${path}"]`);
      $(".meter i", row).style.width = `${(100 * t.ms) / most}%`;
      $(".text", row).textContent = `${ms(t.ms)}, ${t.calls} calls`;
    }
  }

  let generation = 0;
  async function loadAll(path) {
    const mine = ++generation;
    const root = $("#widgets");
    root.dataset.state = "loading";
    root.dataset.path = path;
    const results = [];
    // One after the other: nine at once would measure how they wait for each other.
    for (const widget of $$(".widget")) {
      results.push(await load(widget, path));
      if (mine !== generation) return;
    }
    totals(results);
    root.dataset.state = "done";
  }

  for (const button of $$("#switch button")) {
    button.addEventListener("click", () => {
      for (const other of $$("#switch button")) other.setAttribute("aria-pressed", String(other === button));
      loadAll(button.dataset.path);
    });
  }
  $("#percent").addEventListener("input", (e) => { $("#percent-out").textContent = `${e.target.value} %`; });
  for (const id of ["#user", "#ticker"]) $(id).addEventListener("change", (e) => e.target.form.requestSubmit());

  loadAll("");
})();
