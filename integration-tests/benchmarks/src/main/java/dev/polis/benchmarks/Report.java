package dev.polis.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Collects the measurements of a run, and prints them as tables. */
final class Report {

  /** One line of a table. */
  private record Row(
      String what, String measured, String baseline, String ratio, String aim, String verdict) {
    String markdown() {
      return "| " + String.join(" | ", what, measured, baseline, ratio, aim, verdict) + " |";
    }
  }

  private record Section(String title, List<Row> rows, List<String> notes) {}

  private final List<Section> sections = new ArrayList<>();

  void section(String title) {
    sections.add(new Section(title, new ArrayList<>(), new ArrayList<>()));
  }

  /**
   * Adds a figure.
   *
   * @param baseline the name of the baseline and its figure, as text
   * @param ratio measured divided by baseline
   */
  void row(String what, String measured, String baseline, double ratio, Aim aim) {
    add(new Row(what, measured, baseline, ratio(ratio), aim.text(), aim.verdict()));
  }

  /** Adds a figure that is counted, not compared. */
  void row(String what, String measured, Aim aim) {
    add(new Row(what, measured, "", "", aim.text(), aim.verdict()));
  }

  /** Adds an explanation of the figures above. */
  void note(String text) {
    sections.getLast().notes().add(text);
  }

  private void add(Row row) {
    sections.getLast().rows().add(row);
    System.err.println("  " + row.markdown());
  }

  static String ratio(double value) {
    return String.format(Locale.ROOT, value < 10 ? "%.2f ×" : "%.0f ×", value);
  }

  static String number(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  static String millis(double nanos) {
    double millis = nanos / 1e6;
    return number(millis < 10 ? "%.2f ms" : "%.0f ms", millis);
  }

  static String seconds(double nanos) {
    return number("%.2f s", nanos / 1e9);
  }

  String markdown(String facts) {
    StringBuilder text = new StringBuilder(facts);
    for (Section section : sections) {
      text.append("\n### ").append(section.title()).append("\n\n");
      text.append("| what | measured | baseline of the same run | ratio | aim | |\n");
      text.append("|---|---|---|---|---|---|\n");
      section.rows().forEach(row -> text.append(row.markdown()).append('\n'));
      section.notes().forEach(note -> text.append('\n').append(note).append('\n'));
    }
    return text.toString();
  }

  static void write(Path file, String text) throws IOException {
    Path whole = file.toAbsolutePath();
    Files.createDirectories(whole.getParent());
    Files.writeString(whole, text);
  }
}
