package dev.polis.benchmarks;

import java.util.Locale;

/** Compares one measurement with its aim. */
record Aim(String text, boolean met) {

  static final Aim NONE = new Aim("", true);

  static Aim atMost(double limit, String unit, double measured) {
    return new Aim("≤ " + number(limit) + unit, measured <= limit);
  }

  static Aim atLeast(double limit, String unit, double measured) {
    return new Aim("≥ " + number(limit) + unit, measured >= limit);
  }

  String verdict() {
    return text.isEmpty() ? "" : met ? "met" : "**missed**";
  }

  private static String number(double value) {
    return value == Math.rint(value)
        ? String.format(Locale.ROOT, "%,d", (long) value)
        : String.format(Locale.ROOT, "%s", value);
  }
}
