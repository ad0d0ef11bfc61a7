package dev.polis.kubernetes.worker;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Builds JSON and prints it in a stable form. Members are in the order of their names, so that the
 * same content is the same text in each run, and a program with this configuration keeps running.
 */
final class JsonText {

  private static final Gson GSON =
      new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

  private JsonText() {}

  /** Returns an object with these members: texts, numbers, truth values, lists, maps or JSON. */
  static JsonObject object(Map<String, ?> members) {
    JsonObject object = new JsonObject();
    new TreeMap<>(members).forEach((name, value) -> object.add(name, element(value)));
    return object;
  }

  @SuppressWarnings("unchecked") // names are texts by the contract of object()
  private static JsonElement element(Object value) {
    return switch (value) {
      case JsonElement json -> json;
      case Map<?, ?> members -> object((Map<String, ?>) members);
      case List<?> elements -> {
        JsonArray array = new JsonArray();
        elements.forEach(each -> array.add(element(each)));
        yield array;
      }
      case Boolean truth -> new JsonPrimitive(truth);
      case Number number -> new JsonPrimitive(number);
      default -> new JsonPrimitive(value.toString());
    };
  }

  /** Returns the text of an object, with a line end. */
  static String text(Map<String, ?> members) {
    return GSON.toJson(object(members)) + "\n";
  }
}
