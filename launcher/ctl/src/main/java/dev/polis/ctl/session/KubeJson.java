package dev.polis.ctl.session;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.List;

/** Reads objects of Kubernetes, in which anything may be missing. */
public final class KubeJson {

  private KubeJson() {}

  /** Returns the text at a path of names; empty if there is none. */
  public static String text(JsonObject object, String... path) {
    JsonElement value = object;
    for (String name : path) {
      if (value == null || !value.isJsonObject()) {
        return "";
      }
      value = value.getAsJsonObject().get(name);
    }
    return value == null || !value.isJsonPrimitive() ? "" : value.getAsString();
  }

  /** Returns the object of a name; an empty one if there is none. */
  public static JsonObject part(JsonObject object, String name) {
    JsonElement part = object.get(name);
    return part != null && part.isJsonObject() ? part.getAsJsonObject() : new JsonObject();
  }

  /** Returns the objects of a list; none if there is no such list. */
  public static List<JsonObject> list(JsonObject object, String name) {
    JsonElement list = object.get(name);
    return list == null || !list.isJsonArray()
        ? List.of()
        : list.getAsJsonArray().asList().stream()
            .filter(JsonElement::isJsonObject)
            .map(JsonElement::getAsJsonObject)
            .toList();
  }
}
