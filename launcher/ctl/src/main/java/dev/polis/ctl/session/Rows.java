package dev.polis.ctl.session;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dev.polis.ctl.session.Document.Column;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Describes the rows of a document: the fields that programs read, and those that a table shows.
 *
 * @param <T> what a row is made of
 */
public final class Rows<T> {

  private final Map<String, Function<? super T, ?>> fields = new LinkedHashMap<>();
  private final List<Column> columns = new ArrayList<>();

  /** Adds a field that tables leave out. */
  public Rows<T> field(String key, Function<? super T, ?> value) {
    fields.put(key, value);
    return this;
  }

  /** Adds a field that tables show. */
  public Rows<T> column(String title, String key, Function<? super T, ?> value) {
    return field(key, value).column(Column.of(title, key));
  }

  /** Adds a field that only the wide table shows. */
  public Rows<T> wide(String title, String key, Function<? super T, ?> value) {
    return field(key, value).column(Column.wide(title, key));
  }

  /** Adds a column that a table makes of fields. */
  public Rows<T> column(Column column) {
    columns.add(column);
    return this;
  }

  /** Returns a row for programs. */
  public JsonObject json(T each) {
    JsonObject row = new JsonObject();
    fields.forEach((key, value) -> row.add(key, element(value.apply(each))));
    return row;
  }

  /** Returns rows for programs. */
  public JsonArray json(Iterable<? extends T> all) {
    JsonArray rows = new JsonArray();
    all.forEach(each -> rows.add(json(each)));
    return rows;
  }

  public Document document(Iterable<? extends T> all) {
    return new Document(json(all), columns);
  }

  public Document single(T only) {
    return new Document(json(only), columns);
  }

  /** Returns a value of Java in JSON; an empty one is null there. */
  public static JsonElement element(Object value) {
    return switch (value) {
      case Optional<?> perhaps -> perhaps.<JsonElement>map(Rows::element).orElse(JsonNull.INSTANCE);
      case JsonElement json -> json;
      case Number number -> new JsonPrimitive(number);
      case Boolean truth -> new JsonPrimitive(truth);
      case Iterable<?> all -> {
        JsonArray array = new JsonArray();
        all.forEach(each -> array.add(element(each)));
        yield array;
      }
      default -> new JsonPrimitive(value.toString());
    };
  }
}
