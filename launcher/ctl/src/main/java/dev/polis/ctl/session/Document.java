package dev.polis.ctl.session;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Holds the output of a command: a JSON value, and the columns in which a table shows it.
 *
 * @param body an array of objects (one row each) or one object (one row)
 * @param columns what a table shows of a row
 */
public record Document(JsonElement body, List<Column> columns) {

  /**
   * One column of a table.
   *
   * @param title the heading
   * @param text the cell of a row
   * @param wideOnly whether only the wide table has it
   */
  public record Column(String title, Function<JsonObject, String> text, boolean wideOnly) {
    public static Column of(String title, String key) {
      return new Column(title, row -> plain(row.get(key)), false);
    }

    public static Column wide(String title, String key) {
      return new Column(title, row -> plain(row.get(key)), true);
    }
  }

  public static Document rows(JsonArray rows, Column... columns) {
    return new Document(rows, List.of(columns));
  }

  public static Document single(JsonObject row, Column... columns) {
    return new Document(row, List.of(columns));
  }

  List<JsonObject> asRows() {
    List<JsonObject> rows = new ArrayList<>();
    if (body.isJsonArray()) {
      body.getAsJsonArray().forEach(row -> rows.add(row.getAsJsonObject()));
    } else {
      rows.add(body.getAsJsonObject());
    }
    return rows;
  }

  /** Renders a value as one cell: lists joined by commas, maps as key:value pairs. */
  public static String plain(JsonElement value) {
    if (value == null || value.isJsonNull()) {
      return "";
    }
    if (value.isJsonPrimitive()) {
      return value.getAsString();
    }
    List<String> parts = new ArrayList<>();
    if (value.isJsonArray()) {
      value.getAsJsonArray().forEach(part -> parts.add(plain(part)));
    } else {
      value
          .getAsJsonObject()
          .entrySet()
          .forEach(entry -> parts.add(entry.getKey() + ":" + plain(entry.getValue())));
    }
    return String.join(",", parts);
  }
}
