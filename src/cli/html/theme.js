/* theme.js - light or dark: the system's choice until the reader makes one, which is kept. */
const theme = {
  choices: ["auto", "light", "dark"],
  choice: "auto",
  system: matchMedia("(prefers-color-scheme: dark)"),
  listeners: [],

  isDark() {
    return theme.choice === "dark" || (theme.choice === "auto" && theme.system.matches);
  },

  color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  },

  apply() {
    document.documentElement.dataset.theme = theme.isDark() ? "dark" : "light";
    document.getElementById("theme").textContent = `theme: ${theme.choice}`;
    theme.listeners.forEach(listener => listener());
  },

  begin() {
    try { theme.choice = localStorage.getItem("shapecache-theme") ?? "auto"; } catch { /* not from a file */ }
    if (!theme.choices.includes(theme.choice)) theme.choice = "auto";
    theme.system.addEventListener("change", theme.apply);
    document.getElementById("theme").addEventListener("click", () => {
      theme.choice = theme.choices[(theme.choices.indexOf(theme.choice) + 1) % theme.choices.length];
      try { localStorage.setItem("shapecache-theme", theme.choice); } catch { /* for this time only */ }
      theme.apply();
    });
    theme.apply();
  },

  /* A phase is told by its pattern too. */
  hatch(kind, color, strength = 0.16) {
    if (kind === "plain") return { color, opacity: strength * 0.75 };
    const size = 12, canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    canvas.width = canvas.height = size;
    pen.globalAlpha = strength * 0.45;
    pen.fillStyle = color;
    pen.fillRect(0, 0, size, size);
    pen.globalAlpha = Math.min(1, strength * 2);
    pen.strokeStyle = color;
    pen.lineWidth = 1;
    pen.beginPath();
    if (kind === "dots") pen.arc(size / 2, size / 2, 1.2, 0, 7);
    for (const shift of kind === "dots" ? [] : [-size, 0, size]) {
      pen.moveTo(shift, size);
      pen.lineTo(shift + size, 0);
      if (kind === "cross") {
        pen.moveTo(shift, 0);
        pen.lineTo(shift + size, size);
      }
    }
    pen.stroke();
    return { color: { image: canvas, repeat: "repeat" }, opacity: 1 };
  },
};
