package dev.polis.ctl.session;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.schema.CoreSchema;

/** Prints a document in the format the operator asked for. */
public enum Output {
  /** Aligned columns for people. */
  table,
  /** Aligned columns, all of them. */
  wide,
  /** JSON for scripts. */
  json,
  /** YAML. */
  yaml,
  /** The language of Graphviz, for what is a graph. */
  dot;

  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  /** Returns whether people read it, for whom a command may print sentences. */
  public boolean isForPeople() {
    return this == table || this == wide;
  }

  public void print(Document document, PrintWriter out) {
    switch (this) {
      case table -> table(document, out, false);
      case wide -> table(document, out, true);
      case json -> out.println(escaped(GSON.toJson(document.body())));
      case yaml -> out.print(yaml(document));
      case dot -> throw noGraph();
    }
    out.flush();
  }

  /** Escapes in JSON the characters that {@link PrintableWriter} leaves out. */
  public static String escaped(String json) {
    StringBuilder escaped = new StringBuilder();
    json.codePoints()
        .forEach(
            each -> {
              if (PrintableWriter.isHarmless(each)) {
                escaped.appendCodePoint(each);
              } else {
                String.valueOf(Character.toChars(each))
                    .chars()
                    .forEach(unit -> escaped.append("\\u%04x".formatted(unit)));
              }
            });
    return escaped.toString();
  }

  /** Refuses dot for a command whose output is no graph. */
  public static CtlException noGraph() {
    return new CtlException(
        ExitCode.USAGE, "-o dot is for \"plugin graph\" alone; use table, wide, json or yaml");
  }

  /**
   * Prints YAML. JSON is YAML, so the YAML reader turns the document into the maps that the YAML
   * writer wants. It writes for readers of the core schema: to them 0012 is a number, so a text of
   * that kind is quoted.
   */
  private static String yaml(Document document) {
    Object plain =
        new Load(LoadSettings.builder().build())
            .loadFromString(escaped(GSON.toJson(document.body())));
    return new Dump(
            DumpSettings.builder()
                .setDefaultFlowStyle(FlowStyle.BLOCK)
                .setSchema(new CoreSchema())
                .build())
        .dumpToString(plain);
  }

  private static void table(Document document, PrintWriter out, boolean wide) {
    List<Document.Column> columns =
        document.columns().stream().filter(column -> wide || !column.wideOnly()).toList();
    List<List<String>> lines = new ArrayList<>();
    lines.add(columns.stream().map(Document.Column::title).toList());
    document
        .asRows()
        .forEach(
            row -> lines.add(columns.stream().map(column -> column.text().apply(row)).toList()));
    int[] widths = new int[columns.size()];
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    lines.forEach(line -> out.println(aligned(line, widths)));
  }

  private static String aligned(List<String> cells, int[] widths) {
    StringBuilder line = new StringBuilder();
    for (int i = 0; i < widths.length; i++) {
      line.append(cells.get(i)).repeat(" ", widths[i] - cells.get(i).length() + 3);
    }
    return line.toString().stripTrailing();
  }
}
