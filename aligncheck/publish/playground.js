"use strict";
// Both runs of a mechanism, with exact numbers: what a page computes while its reader moves a slider. A program is the tree
// that playground.py writes; the meaning is that of aligncheck/meaning, which the tests compare it with.
const aligncheck = (() => {
  // --- exact numbers -----------------------------------------------------------------------------------------
  const gcd = (a, b) => { if (a < 0n) a = -a; while (b) [a, b] = [b, a % b]; return a; };
  const Q = (n, d = 1n) => {
    if (d === 0n) throw new Stop("division by 0");
    if (d < 0n) { n = -n; d = -d; }
    const g = gcd(n, d) || 1n;
    return { n: n / g, d: d / g };
  };
  const number = (text) => { const [n, d = "1"] = text.split("/"); return Q(BigInt(n), BigInt(d)); };
  const add = (a, b) => Q(a.n * b.d + b.n * a.d, a.d * b.d);
  const neg = (a) => Q(-a.n, a.d);
  const sub = (a, b) => add(a, neg(b));
  const mul = (a, b) => Q(a.n * b.n, a.d * b.d);
  const div = (a, b) => Q(a.n * b.d, a.d * b.n);
  const cmp = (a, b) => { const x = a.n * b.d - b.n * a.d; return x < 0n ? -1 : x > 0n ? 1 : 0; };
  const abs = (a) => (a.n < 0n ? neg(a) : a);
  const floor = (a) => Q(a.n >= 0n ? a.n / a.d : -((-a.n + a.d - 1n) / a.d));
  const ZERO = Q(0n);
  const multiple = (a, step) => div(a, step).d === 1n;
  const total = (values) => values.reduce(add, ZERO);
  const text = (v) => typeof v === "boolean" ? String(v)
    : typeof v === "string" || typeof v === "number" ? String(v) : Array.isArray(v) ? `[${v.map(text).join(", ")}]` : v.d === 1n ? String(v.n) : `${v.n}/${v.d}`;
  const same = (a, b) => typeof a === "boolean" || typeof b === "boolean" ? a === b : cmp(a, b) === 0;
  const whole = (v) => { if (v.d !== 1n) throw new Stop(`an index must be an integer, not ${text(v)}`); return Number(v.n); };

  class Stop extends Error {
    constructor(message, condition = "defined") { super(message); this.condition = condition; }
  }
  const LIMIT = 3000;
  const caught = (work) => { try { work(); return null; } catch (e) { if (!(e instanceof Stop)) throw e; return e; } };

  // --- expressions -------------------------------------------------------------------------------------------
  // A scope answers `name`, `entry`, `list`, `selection`; `bound` are indices of sets; `out` is what D released.
  const compare = (op, a, b) => {
    if (typeof a === "boolean") return op === "==" ? a === b : a !== b;
    if (Array.isArray(a)) return a.length === b.length && a.every((x, i) => compare(op, x, b[i]));
    const c = cmp(a, b);
    return { "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0, "==": c === 0, "!=": c !== 0 }[op];
  };
  const arithmetic = {
    "+": add, "-": sub, "*": mul, "/": div,
    "%": (a, b) => sub(a, mul(b, floor(div(a, b)))),
    "**": (a, b) => {
      const k = whole(b);
      let x = Q(1n);
      for (let i = 0; i < Math.abs(k); i++) x = mul(x, a);
      return k < 0 ? div(Q(1n), x) : x;
    },
  };
  const greatest = (values) => values.reduce((a, b) => (cmp(b, a) > 0 ? b : a));
  const least = (values) => values.reduce((a, b) => (cmp(b, a) < 0 ? b : a));
  const functions = {
    abs: ([x]) => abs(x), floor: ([x]) => floor(x), max: greatest, min: least,
    clip: ([x, low, high]) => {
      if (cmp(low, high) > 0) throw new Stop("the ends of `clip` are not in order");
      return least([greatest([x, low]), high]);
    },
  };

  function value(e, s) {
    switch (e[0]) {
      case "Number": return number(e[1]);
      case "Boolean": return e[1];
      case "Name": return s.name(e[1], e[2]);
      case "Index": return s.entry(e[1], whole(value(e[2], s)), e[3]);
      case "Length": return Q(BigInt((e[1] === "out" ? s.out : s.list(e[1]) || s.selection(e[1])).length));
      case "Call": return functions[e[1]](e[2].map((x) => value(x, s)));
      case "Unary": return e[1] === "not" ? !value(e[2], s) : neg(value(e[2], s));
      case "Logic": return e[1] === "and" ? e[2].every((x) => value(x, s)) : e[2].some((x) => value(x, s));
      case "Conditional": return value(value(e[1], s) ? e[2] : e[3], s);
      case "Binary": return arithmetic[e[1]](value(e[2], s), value(e[3], s));
      case "Compare": {
        const [a, b] = [value(e[2], s), value(e[3], s)];
        if (s.compared) s.compared.push(`${text(a)} ${e[1]} ${text(b)}`);
        return compare(e[1], a, b);
      }
      case "OutIs": { const r = records(e[3], s)[whole(value(e[1], s))]; return r !== undefined && r.tag === e[2]; }
      case "OutField": {
        const r = records(e[3], s)[whole(value(e[1], s))];
        const f = r && r.fields.find(([name]) => name === e[2]);
        if (!f) throw new Stop(`there is no ${e[2]} in this record`);
        return f[1];
      }
      case "OutCount": return Q(BigInt(records(e[2], s).filter((r) => e[1] === null || r.tag === e[1]).length));
      case "Member": return s.selection(e[2]).includes(whole(value(e[1], s)));
      case "Gather": return gathered(e, s);
    }
    throw new Stop(`no such expression: ${e[0]}`);
  }

  const records = (of, s) => (of === "out" ? s.out : s.selection(of)); // of the output, or what a call released

  function gathered([, how, count, body, index, over, where], s) {
    const [low, high] = Array.isArray(over) ? over.map((x) => whole(value(x, s))) : [0, s.list(over).length];
    const outside = s.bound, noted = s.compared, found = [];
    s.compared = null;
    for (let i = low; i < high; i++) {
      s.step();
      s.bound = { ...outside, [index]: Q(BigInt(i)) };
      if (where === null || value(where, s)) found.push([i, value(body, s)]);
    }
    s.bound = outside;
    s.compared = noted;
    if (how === "list") return found.map(([, v]) => v);
    if (how === "sum") return found.reduce((a, [, v]) => add(a, v), ZERO);
    if (how === "top" || how === "upto") {
      const wanted = whole(value(count, s));
      if (how === "top" && found.length < wanted) throw new Stop(`top is asked for ${wanted} indices of ${found.length}`);
      return found.sort((a, b) => cmp(b[1], a[1]) || a[0] - b[0]).slice(0, wanted).map(([i]) => i);
    }
    if (!found.length) throw new Stop(`${how} over no index`);
    const sign = how.endsWith("max") ? 1 : -1;
    const best = found.reduce((a, b) => (cmp(b[1], a[1]) * sign > 0 ? b : a));
    return how.startsWith("arg") ? Q(BigInt(best[0])) : best[1];
  }

  // --- one run -----------------------------------------------------------------------------------------------
  const keyOf = (name, index) => (index === null ? name : `${name}[${index}]`);

  class Run {
    constructor(program, inputs, noise, called = null) {
      Object.assign(this, { program, inputs, noise, called, calls: [], variables: {}, draws: new Map(), steps: [], out: [], bound: {}, compared: [], loop: [], taken: 0 });
    }
    step() { if (++this.taken > LIMIT) throw new Stop("this takes too many steps", "unknown"); }
    name(ident) { // the name of a list stands for it where a callee gets it
      for (const place of [this.bound, this.variables]) if (ident in place) return place[ident];
      if (this.draws.has(ident)) return this.draws.get(ident).value();
      if (ident in this.inputs) return this.inputs[ident];
      throw new Stop(`${ident} has no value here`);
    }
    entry(base, index) {
      const list = this.list(base) || (base in this.variables ? this.variables[base].map((i) => Q(BigInt(i))) : null);
      if (list) {
        if (!(index in list)) throw new Stop(`index ${index} is outside of ${base}`);
        return list[index];
      }
      const draw = this.draws.get(keyOf(base, index));
      if (!draw) throw new Stop(`${base}[${index}] has not been drawn here`);
      return draw.value();
    }
    list(base) { return Array.isArray(this.inputs[base]) ? this.inputs[base] : null; }
    selection(base) { return this.variables[base]; }
    go() {
      this.ended = caught(() => this.block(this.program.body));
      for (const [n, { draw }] of this.steps.entries()) { // noise is worked out when it is first read
        const without = draw && caught(() => { this.steps[n].shown = text(draw.value()); });
        if (!without) continue;
        this.steps.length = n;
        this.ended = without;
        break;
      }
      this.out = this.steps.filter((s) => s.kind === "emit").map((s) => s.record);
      return this;
    }
    note(step) { this.steps.push({ ...step, loop: this.loop.join(" ") }); }
    block(body) { return body.some((s) => this.statement(s)); }
    statement(s) {
      this.step();
      switch (s.kind) {
        case "assign":
          this.variables[s.name] = value(s.value, this);
          this.note({ kind: "assign", line: s.line, label: `${s.name} =`, shown: text(this.variables[s.name]), chosen: s.chosen, name: s.name, value: this.variables[s.name] });
          return false;
        case "draw": {
          const key = keyOf(s.name, s.index === null ? null : whole(value(s.index, this)));
          const scale = value(s.scale, this);
          if (this.draws.has(key)) throw new Stop(`${key} is drawn a second time`, "fresh");
          if (scale.n <= 0n) throw new Stop(`the scale is ${text(scale)}, which is not positive`, "scales");
          const step = s.step === null ? null : value(s.step, this);
          if (step !== null && step.n <= 0n) throw new Stop(`the step is ${text(step)}, which is not positive`, "scales");
          const draw = { key, scale, step, one_sided: s.one_sided, name: s.name, index: key === s.name ? null : whole(value(s.index, this)), environment: { ...this.variables } };
          draw.value = this.noise(draw);
          this.draws.set(key, draw);
          this.note({ kind: "draw", line: s.line, label: key, draw });
          return false;
        }
        case "if":
          for (const [test, body, line] of s.branches) {
            const holds = this.test(test, line);
            if (holds) return this.block(body);
          }
          return this.block(s.otherwise);
        case "for": {
          const [low, high] = s.base === null ? s.range.map((x) => whole(value(x, this))) : [0, this.list(s.base).length];
          for (let i = low; i < high; i++) {
            if (s.index !== null) this.variables[s.index] = Q(BigInt(i));
            if (s.base !== null) this.variables[s.item] = this.list(s.base)[i];
            if (this.round(s.index === null ? "round" : s.index, i, s.body)) break;
          }
          return false;
        }
        case "emit": {
          const fields = s.fields.map(([name, e]) => [name, value(e, this)]);
          this.note({ kind: "emit", line: s.line, label: "emit", shown: record({ tag: s.tag, fields }), record: { tag: s.tag, fields } });
          return false;
        }
        case "call": {
          const given = Object.fromEntries(s.arguments.map(([name, e]) => [name, value(e, this)]));
          const count = this.calls.filter((call) => call.name === s.name).length;
          const call = { name: s.name, key: `${s.name}${count ? `(${count + 1})` : ""}.`, given, use: this.program.uses[s.mechanism], loop: this.loop.join(" ") };
          call.spent = value(call.use.spent, new Run(call.use, given, null));
          this.calls.push(call);
          call.records = this.called(call);
          this.variables[s.name] = call.records;
          this.note({ kind: "call", line: s.line, label: `${s.name} =`, shown: call.records.map(record).join(", ") || "nothing", call });
          return false;
        }
        case "while":
          for (let k = 0, left = false; !left; k++) left = this.round("round", k, s.body, s);
          return false;
        case "break": return true;
      }
      return false;
    }
    round(name, i, body, until = null) {
      this.step();
      this.loop.push(`${name}=${i}`);
      const left = (until !== null && !this.test(until.test, until.line)) || this.block(body);
      this.loop.pop();
      return left;
    }
    test(test, line) {
      this.compared = [];
      const holds = value(test, this);
      this.note({ kind: "test", line, label: "if", shown: `${this.compared.join(", ") || holds}  ${holds ? "yes" : "no"}`, holds });
      return holds;
    }
  }
  const record = (r) => r.tag + (r.fields.length ? `(${r.fields.map(([n, v]) => `${n} = ${text(v)}`).join(", ")})` : "");

  // --- the alignment -----------------------------------------------------------------------------------------
  // Where a variable is drawn: its program variables as on D there, what sets give in the whole run on D, all noise of D.
  // `ahead` is what a variable holds on D', at this draw or, of what sets give, in the whole run.
  function alignScope(program, d, inputs, inputsPrime, environment, bound, noise, ahead) {
    const sets = Object.fromEntries(Object.keys(program.sets).filter((n) => n in d.variables).map((n) => [n, d.variables[n]]));
    const variables = { ...sets, ...environment };
    return {
      bound, out: d.out, step: () => {}, compared: null,
      name(ident, primed) {
        if (ident in this.bound) return this.bound[ident];
        const from = primed ? inputsPrime : inputs;
        if (!primed && ident in variables) return variables[ident];
        if (ident in from) return from[ident];
        if (primed) return ahead.name(ident);
        if (program.drawn.includes(ident)) return noise(ident);
        throw new Stop(`${ident} has no value here`);
      },
      entry(base, index, primed) {
        const list = (primed ? inputsPrime : inputs)[base] || (base in variables ? variables[base].map((i) => Q(BigInt(i))) : null);
        if (!list) return primed ? ahead.entry(base, index) : noise(keyOf(base, index));
        if (!(index in list)) throw new Stop(`index ${index} is outside of ${base}`);
        return list[index];
      },
      list: (base) => (Array.isArray(inputs[base]) ? inputs[base] : null),
      selection: (base) => variables[base],
    };
  }

  // The lists that the round of a draw selects after it.
  function ofRound(program, d, draw) {
    const at = d.steps.findIndex((s) => s.draw === draw);
    const next = program.rounds[draw.name].map((name) => d.steps.slice(at).find((s) => s.name === name));
    return Object.fromEntries(next.filter((s) => s && s.line > d.steps[at].line).map((s) => [s.name, s.value]));
  }

  function shiftOf(program, draw, scopeWith) {
    const lines = (items) => items.flatMap((item) => {
      if (item.name) return item.name === draw.name ? [item] : [];
      const moves = (xs) => xs.some((x) => (x.name ? x.name === draw.name : moves([...x.cases.flatMap((c) => c[1]), ...x.otherwise])));
      if (!moves([item])) return [];
      const arm = item.cases.find(([test]) => value(test, scopeWith({})));
      return lines(arm ? arm[1] : item.otherwise);
    });
    let total = ZERO;
    for (const line of lines(program.align)) {
      const scope = scopeWith(line.binder !== null && draw.index !== null ? { [line.binder]: Q(BigInt(draw.index)) } : {});
      if (line.binder === null && (line.index === null ? null : whole(value(line.index, scope))) !== draw.index) continue;
      if (line.guard !== null && !value(line.guard, scope)) continue;
      const by = value(line.value, scope);
      total = line.op === "+=" ? add(total, by) : line.op === "-=" ? sub(total, by) : add(total, sub(by, draw.value()));
    }
    return total;
  }

  // --- both runs ---------------------------------------------------------------------------------------------
  const placeOf = (s) => (s.kind === "draw" ? s.label : `${s.kind} ${s.line} ${s.loop}`);

  function paired(left, right) {
    const rows = [];
    let reached = 0;
    for (const step of left) {
      const at = right.findIndex((other, n) => n >= reached && placeOf(other) === placeOf(step));
      if (at < 0) { rows.push([step, null]); continue; }
      for (; reached < at; reached++) rows.push([null, right[reached]]);
      rows.push([step, right[at]]);
      reached = at + 1;
    }
    for (; reached < right.length; reached++) rows.push([null, right[reached]]);
    return rows;
  }

  // The runs, step by step; the cost; what the claim is for the output of D; and which conditions this pair violates.
  function replay(program, scenario) {
    const given = read(scenario.noise);
    return compared(program, aligned(program, read({ ...scenario.parameters, ...scenario.data }), read({ ...scenario.parameters, ...scenario.data_prime }), (key) => given[key] || ZERO));
  }

  const read = (x) => (typeof x === "boolean" ? x : Array.isArray(x) ? x.map(read) : typeof x === "object" ? Object.fromEntries(Object.entries(x).map(([k, v]) => [k, read(v)])) : number(x));

  // A callee on one side: it must come to its end. `noise` has its draws after the name of the call.
  const within = (noise, call) => (key) => noise(call.key + key);
  function executed(noise, call) {
    const run = new Run(call.use, call.given, (draw) => () => within(noise, call)(draw.key), (inner) => executed(within(noise, call), inner)).go();
    call.run = run;
    if (run.ended !== null) throw new Stop(`${call.use.name}: ${run.ended.message}`, "calls");
    return run.out;
  }
  // Why the theorem of a callee says nothing of what it gets on D and on D'.
  const notCovered = (on, call) => Object.keys(call.given).find((n) => call.use.queries.every((q) => !q.names.includes(n)) && text(on.given[n]) !== text(call.given[n]))
    || undeclared(call.use, on.given, call.given);

  // The run on D, and that on D' with the aligned noise. Callees get the noise that their own alignments make of theirs.
  function aligned(program, inputs, inputsPrime, noise) {
    const d = new Run(program, inputs, (draw) => () => noise(draw.key), (call) => executed(noise, call)).go();
    const calledAgain = (call) => {
      const on = d.calls.find((other) => other.key === call.key);
      if (!on || notCovered(on, call)) return executed(noise, call);
      const { prime } = aligned(call.use, on.given, call.given, within(noise, call));
      if (prime.ended !== null || text(prime.out.map(record)) !== text(on.records.map(record))) throw new Stop(`${call.use.name} releases something else with its aligned noise`, "unknown");
      return prime.out;
    };
    const shifts = new Map(), aheads = new Map(), open = new Set(), assumed = new Map();
    const once = (place, table, work) => {
      if (!table.has(place)) {
        if (open.has(place)) throw new Stop(`${place} on D' depends on itself`, "acyclic");
        open.add(place);
        try { table.set(place, work()); } finally { open.delete(place); }
      }
      return table.get(place);
    };
    const moved = (key) => {
      const on = d.draws.get(key);
      if (!on || d.ended !== null) return noise(key);
      const scopeWith = (bound) => alignScope(program, d, inputs, inputsPrime, { ...on.environment, ...ofRound(program, d, on) }, bound, noise, aheadAt(key));
      return add(on.value(), once(key, shifts, () => shiftOf(program, on, scopeWith)));
    };
    const prime = new Run(program, inputsPrime, (draw) => () => moved(draw.key), calledAgain);
    // What a set gives on D', before the run comes to it. A selection that needs the very noise is taken as on D, which the output shows.
    const aheadOf = (name) => {
      if (name in prime.variables) return prime.variables[name];
      if (!(name in program.sets)) throw new Stop(`${name}' is needed before the run on D' comes to it`, "unknown");
      return once(`${name}'`, aheads, () => {
        const [how] = program.sets[name].slice(1), scope = primeScope((n) => aheadOf(n));
        try { return value(program.sets[name], scope); } catch (e) {
          if (!(e instanceof Stop) || e.condition !== "acyclic" || !["argmax", "argmin", "top", "upto"].includes(how)) throw e;
          assumed.set(name, d.variables[name]);
          return d.variables[name];
        }
      });
    };
    const primeScope = (held) => Object.assign(Object.create(prime), {
      bound: {}, compared: null,
      name(ident) { return ident in this.bound ? this.bound[ident] : ident in inputsPrime ? inputsPrime[ident] : program.drawn.includes(ident) ? moved(ident) : held(ident); },
      entry(base, index) {
        if (!this.list(base) && program.drawn.includes(base)) return moved(keyOf(base, index));
        const list = this.list(base) || held(base).map((i) => Q(BigInt(i)));
        if (!(index in list)) throw new Stop(`index ${index} is outside of ${base}`);
        return list[index];
      },
      selection: held,
    });
    const aheadAt = (key) => {
      const there = prime.draws.get(key);
      return primeScope((name) => (there && name in there.environment ? there.environment[name] : aheadOf(name)));
    };
    prime.go();
    const output = () => alignScope(program, d, inputs, inputsPrime, {}, {}, noise, primeScope(aheadOf));
    const claim = d.ended === null ? value(program.privacy, output()) : null;
    return { d, prime, shifts, assumed, claim };
  }

  function compared(program, { d, prime, shifts, assumed, claim }) {
    let cost = ZERO, parted = null;
    const ends = [d, prime].flatMap((run) => (run.ended === null ? [] : [run.ended]));
    const undecided = ends.find((end) => end.condition === "unknown"), violated = new Set(ends.map((end) => end.condition));
    const rows = paired(d.steps, prime.steps).map(([left, right], n) => {
      const step = left || right;
      if (parted === null && (!left || !right || (step.kind === "test" && left.holds !== right.holds))) parted = n;
      const row = { line: step.line, loop: step.loop, label: step.label, kind: step.kind, left: left && left.shown, right: right && right.shown, shift: null, cost: null, chosen: step.chosen };
      if (step.kind === "draw" && right && shifts.has(step.label)) {
        const by = shifts.get(step.label);
        cost = add(cost, div(abs(by), d.draws.get(step.label).scale));
        Object.assign(row, { shift: text(by), cost: text(cost) });
      }
      if (step.kind === "call" && left && right) {
        const alike = Object.entries(left.call.given).every(([n, v]) => text(v) === text(right.call.given[n])); // then it is free
        cost = alike ? cost : add(cost, left.call.spent);
        row.cost = text(cost);
        if (parted === null && d.ended === null && notCovered(left.call, right.call)) violated.add("calls");
      }
      return row;
    });
    const finished = d.ended === null && prime.ended === null;
    const differs = finished && (d.out.length !== prime.out.length || d.out.some((r, n) => record(r) !== record(prime.out[n])));
    if (differs) violated.add("output");
    for (const row of differs && parted !== null ? rows.slice(0, parted) : rows) {
      const [on, draw] = [d.draws.get(row.label), prime.draws.get(row.label)];
      if (row.kind !== "draw" || row.right === null || !on || d.ended !== null) continue;
      if (cmp(on.scale, draw.scale) !== 0 || (on.step && cmp(on.step, draw.step) !== 0)) violated.add("scales");
      else if ((draw.one_sided && draw.value().n < 0n) || (draw.step && !multiple(draw.value(), draw.step))) violated.add("support");
    }
    if (finished && !differs && d.draws.size !== prime.draws.size) violated.add("draws");
    if (claim !== null && cmp(cost, claim) > 0) violated.add("cost");
    if (finished && !differs) for (const [name, value] of assumed) if (text(value) !== text(prime.variables[name])) violated.add("acyclic");
    return {
      rows, parted, cost: text(cost), claim: claim === null ? null : text(claim), violated: undecided ? [] : [...violated].sort(), undecided: undecided ? undecided.message : null,
      ended: [d, prime].map((run) => run.ended && run.ended.message), output: d.out.map(record), output_prime: prime.out.map(record),
      draws: drawsOf(d, ""),
    };
  }

  // The draws of a run, with those of its callees, after the names of their calls.
  const drawsOf = (run, before) => [
    ...[...run.draws.values()].map((draw) => ({ key: before + draw.key, one_sided: draw.one_sided, step: draw.step && text(draw.step) })),
    ...run.calls.flatMap((call) => (call.run ? drawsOf(call.run, before + call.key) : [])),
  ];

  // Whether the inputs are as declared; a sentence where they are not.
  const allowed = (program, scenario) => undeclared(program, read({ ...scenario.parameters, ...scenario.data }), read({ ...scenario.parameters, ...scenario.data_prime }));

  function undeclared(program, inputs, inputsPrime) {
    for (const n of program.queries.flatMap((q) => q.names)) if (inputs[n].length !== inputsPrime[n].length) return `${n} has different lengths on D and on D'`;
    const [d, prime] = [inputs, inputsPrime].map((each) => new Run(program, each, null));
    for (const run of [d, prime]) for (const [clause, said, name] of program.clauses) {
      const indices = name !== null && Array.isArray(run.inputs[name]) ? run.inputs[name].map((_, i) => i) : [0];
      for (const i of indices) {
        run.bound = { i: Q(BigInt(i)) };
        if (!value(clause, run)) return `${said} does not hold`;
      }
    }
    for (const q of program.queries) {
      const name = q.names.join(", "), listed = (x) => (Array.isArray(x) ? x : [x]);
      const pairs = q.names.flatMap((n) => listed(d.inputs[n]).map((x, i) => [x, listed(prime.inputs[n])[i], i]));
      const here = (e, i) => { d.bound = { i: Q(BigInt(i)) }; return value(e, d); };
      for (const [x, y, i] of pairs) for (const one of [x, y]) {
        if (q.whole && one.d !== 1n) return `an answer of ${name} is no integer`;
        if (q.lattice !== null && !multiple(one, here(q.lattice, i))) return `an answer of ${name} is no multiple of ${text(here(q.lattice, i))}`;
        if (q.range !== null && (cmp(one, here(q.range[0], i)) < 0 || cmp(one, here(q.range[1], i)) > 0)) return `an answer of ${name} is outside of its range`;
      }
      const moves = pairs.map(([x, y]) => sub(y, x));
      const most = (i) => here(q.sensitivity, i);
      if (q.bound === "each" && moves.some((m, n) => cmp(abs(m), most(pairs[n][2])) > 0)) return `an answer of ${name} moves by more than ${text(most(0))}`;
      if (q.bound === "total" && cmp(total(moves.map(abs)), most(0)) > 0) return `the answers of ${name} move by more than ${text(most(0))} in all`;
      if (q.bound === "squares" && cmp(total(moves.map((m) => mul(m, m))), mul(most(0), most(0))) > 0) return `the squares of the moves of ${name} add up to too much`;
      const [ups, downs] = [1, -1].map((sign) => moves.filter((m) => cmp(m, ZERO) === sign).length);
      const count = { "0": ups + downs, "1": ups, "-1": downs };
      for (const [sign, limit] of q.limits) if (count[sign] > limit) return `too many answers of ${name} move`;
      if (q.one_way && ups && downs) return `some answers of ${name} go up, others down`;
    }
    return null;
  }
  return { replay, allowed, number, text };
})();
if (typeof module !== "undefined") module.exports = aligncheck;
