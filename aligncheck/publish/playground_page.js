// What the reader moves: sliders for inputs and noise, and both runs below them. Everything works from the keyboard.
addEventListener("DOMContentLoaded", () => {
  const data = JSON.parse(document.getElementById("play-data").textContent);
  const $ = (id) => document.getElementById(id);
  const make = (tag, props = {}, ...inside) => {
    const it = Object.assign(document.createElement(tag), props);
    it.append(...inside);
    return it;
  };
  const { number, text } = aligncheck;
  const fraction = (a) => { const q = number(a); return Number(q.n) / Number(q.d); };
  const STEP = 4; // quarters, where nothing is said of a lattice
  const exactly = (count, unit = `1/${STEP}`) => { const u = number(unit); return text(number(`${BigInt(count) * u.n}/${u.d}`)); };
  const near = (exact, unit = `1/${STEP}`) => Math.round(fraction(exact) / fraction(unit));
  let at = 0, state = null, refused = {};

  const copy = (x) => JSON.parse(JSON.stringify(x));
  const current = () => data[at];

  // --- controls ----------------------------------------------------------------------------------------------
  function slider(name, label, value, low, high, set, unit = undefined) {
    const shown = make("output", { textContent: value }), at = near(value, unit);
    const input = make("input", { type: "range", id: name, min: Math.min(low, at), max: Math.max(high, at), step: 1, value: at });
    input.setAttribute("aria-valuetext", value);
    input.addEventListener("input", () => {
      const exact = set(Number(input.value));
      shown.textContent = exact;
      input.setAttribute("aria-valuetext", exact);
      show();
    });
    return make("div", { className: "slider" }, make("label", { htmlFor: name, textContent: label }), input, shown);
  }

  function bounds(name, sort) {
    const tried = (v) => {
      const one = copy(state);
      one.parameters[name] = v;
      try { return aligncheck.allowed(current().program, one) === null; } catch { return false; }
    };
    const unit = sort === "int" ? STEP : 1;
    return [tried("-1") ? -4 * STEP : unit, tried("3") ? 4 * STEP : STEP - 1, unit];
  }

  function controls() {
    const box = $("play-controls");
    box.replaceChildren();
    const { program } = current();
    const group = (title, ...inside) => box.append(make("fieldset", {}, make("legend", { textContent: title }), ...inside));
    const parameters = Object.entries(state.parameters).filter(([name]) => name in program.parameters).map(([name, value]) => {
      const sort = program.parameters[name];
      if (sort === "bool") {
        const input = make("input", { type: "checkbox", id: `p-${name}`, checked: value });
        input.addEventListener("change", () => { state.parameters[name] = input.checked; show(); });
        return make("div", { className: "slider" }, make("label", { htmlFor: `p-${name}`, textContent: name }), input);
      }
      const [low, high, unit] = bounds(name, sort);
      const set = (q) => (state.parameters[name] = exactly(Math.round(q / unit) * unit));
      const it = slider(`p-${name}`, name, value, low, high, set);
      it.querySelector("input").step = unit;
      return it;
    });
    group("Public", ...parameters);
    const lengthens = !Object.keys(state.parameters).some((name) => !(name in program.parameters)); // lists that go with the answers
    for (const q of program.queries) for (const name of q.names) {
      const rows = [], unit = q.whole ? "1" : undefined;
      const side = (mark, label, data) => {
        const one = (i, at, x, set) => rows.push(slider(`${mark}-${name}-${i}`, `${name}${at} on ${label}`, x, -16, 16, (v) => set(exactly(v, unit)), unit));
        const it = data[name];
        if (!Array.isArray(it)) one(0, "", it, (v) => (data[name] = v));
        else return (i) => one(i, `[${i}]`, data[name][i], (v) => (data[name][i] = v));
      };
      const [left, right] = [side("d", "D", state.data), side("e", "D'", state.data_prime)];
      if (!left) { group(`Answer ${name}`, ...rows); continue; }
      state.data[name].forEach((_, i) => { left(i); right(i); });
      if (!lengthens) { group(`Answers ${name}`, ...rows); continue; }
      const more = make("button", { type: "button", textContent: "One answer more" });
      more.addEventListener("click", () => { for (const side of [state.data, state.data_prime]) side[name].push("0"); controls(); show(); $(`play-more-${name}`).focus(); });
      more.id = `play-more-${name}`;
      const fewer = make("button", { type: "button", textContent: "One fewer", disabled: state.data[name].length < 2 });
      fewer.addEventListener("click", () => { for (const side of [state.data, state.data_prime]) side[name].pop(); controls(); show(); $(`play-more-${name}`).focus(); });
      group(`Answers ${name}`, ...rows, make("p", { className: "buttons" }, more, fewer));
    }
    const drawn = make("fieldset", { id: "play-noise" }, make("legend", { textContent: "Noise on D" }));
    box.append(drawn);
  }

  // The draws depend on the run: sliders come and go, and the one that has the focus stays.
  function noise(found) {
    const box = $("play-noise"), wanted = found.draws.map((d) => `n-${d.key}`);
    for (const old of [...box.querySelectorAll(".slider")]) if (!wanted.includes(old.querySelector("input").id)) old.remove();
    for (const d of found.draws) {
      const value = state.noise[d.key] || "0", there = document.getElementById(`n-${d.key}`);
      if (there) continue;
      const unit = d.step || undefined;
      box.append(slider(`n-${d.key}`, d.key, value, d.one_sided ? 0 : -32, 32, (v) => (state.noise[d.key] = exactly(v, unit)), unit));
    }
  }

  // --- results -----------------------------------------------------------------------------------------------
  const cell = (content, props = {}) => make("td", props, content === null || content === "" ? "" : make("code", { className: "short", textContent: content }));

  function table(found) {
    const head = ["line", "round", "step", "on D", "on D' (aligned noise)", "cost"];
    const rows = [];
    let loop = null, over = false;
    found.rows.forEach((row, n) => {
      const same = row.left === row.right;
      if (row.kind === "assign" && same && !row.chosen) return;
      const moved = row.shift && row.shift !== "0" ? `  (${row.shift.startsWith("-") ? "" : "+"}${row.shift})` : "";
      const right = row.right === null ? "-" : row.kind === "draw" ? row.right + moved : same ? "same" : row.right;
      const cost = moved ? row.cost : "";
      const above = cost && found.claim !== null && !over && more(row.cost, found.claim);
      over = over || above;
      const wrong = n === found.parted || above || (row.kind === "emit" && !same);
      const note = n === found.parted ? "the runs part here" : above ? `${cost} > ${found.claim}` : cost;
      rows.push(make("tr", { className: wrong ? "marked" : "" },
        make("td", { className: "figures", textContent: row.line }), cell(row.loop === loop ? "" : row.loop), cell(row.label),
        cell(row.left === null ? "-" : row.left), cell(right), make("td", { textContent: note })));
      loop = row.loop;
    });
    const line = make("tr", {}, ...head.map((h) => make("th", { scope: "col", textContent: h })));
    return make("table", {}, make("caption", { textContent: "Both runs, step by step" }), make("thead", {}, line), make("tbody", {}, ...rows));
  }

  const more = (a, b) => { const [x, y] = [number(a), number(b)]; return x.n * y.d > y.n * x.d; };

  const SAYS = {
    output: "the run on D' releases something else", cost: "the alignment costs more than the claim", support: "aligned noise leaves its support",
    scales: "a scale is not positive, or not the same on D and D'", draws: "the runs draw different numbers of variables",
    fresh: "a variable is drawn twice", defined: "something is undefined", acyclic: "a draw depends on its own aligned value",
    calls: "a called mechanism gets on D' what its proof does not cover",
  };

  function show() {
    const { program } = current();
    const wrong = aligncheck.allowed(program, state);
    const status = $("play-status");
    const found = aligncheck.replay(program, state);
    noise(found);
    if (wrong !== null) {
      status.className = "wrong";
      status.textContent = `These are no neighbours as declared: ${wrong}. Nothing is claimed of them.`;
    } else if (found.undecided !== null) {
      status.className = "note";
      status.textContent = `Nothing is said of this run: ${found.undecided}.`;
    } else if (found.violated.length) {
      status.className = "wrong";
      status.textContent = `Here the alignment fails: ${found.violated.map((c) => SAYS[c]).join("; ")}.`;
    } else {
      status.className = "help";
      status.textContent = `Both runs release the same, and the alignment costs ${found.cost} of ${found.claim ?? "?"}.`;
    }
    const [cost, claim] = [fraction(found.cost), found.claim === null ? 0 : fraction(found.claim)];
    const most = Math.max(cost, claim, 1e-9);
    $("play-cost").style.width = `${100 * cost / most}%`;
    $("play-cost").className = cost > claim ? "over" : "";
    $("play-claim").style.left = `${100 * claim / most}%`;
    $("play-cost-text").textContent = `cost ${found.cost}, claim ${found.claim ?? "none"}`;
    $("play-out").textContent = found.output.join(", ") || "nothing";
    $("play-out-prime").textContent = found.output_prime.join(", ") || "nothing";
    $("play-runs").replaceChildren(table(found));
  }

  // --- choices -----------------------------------------------------------------------------------------------
  function start(preset) { state = copy(preset.scenario); controls(); show(); }

  function choose(n) {
    at = n;
    document.querySelectorAll("[data-played]").forEach((it, i) => { it.hidden = i !== n; });
    $("play-verdict").textContent = current().verdict;
    $("play-verdict").className = `verdict ${current().tone}`;
    const box = $("play-presets");
    box.replaceChildren(...current().presets.map((preset) => {
      const it = make("button", { type: "button", textContent: preset.label });
      it.addEventListener("click", () => start(preset));
      return it;
    }));
    const draw = make("button", { type: "button", textContent: "Draw the noise" });
    draw.addEventListener("click", () => {
      for (let round = 0; round < 6; round++) { // what is drawn may lead to other draws
        for (const d of aligncheck.replay(current().program, state).draws) {
          const x = -2 * Math.log(1 - Math.random()) * (d.one_sided || Math.random() < 0.5 ? 1 : -1);
          state.noise[d.key] = exactly(Math.round(STEP * x), d.step || undefined);
        }
      }
      controls();
      show();
    });
    box.append(draw);
    start(current().presets[0]);
  }

  const which = $("play-which");
  $("play-choice").hidden = data.length < 2;
  data.forEach((one, n) => which.append(make("option", { value: n, textContent: one.title })));
  which.addEventListener("change", () => choose(Number(which.value)));
  $("play").hidden = false;
  choose(0);
});
