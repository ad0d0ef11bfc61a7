package dev.polis.kubernetes.control;

import com.google.gson.JsonObject;

/**
 * Holds the wanted state of an object of the cluster.
 *
 * @param collection the path of its kind, such as {@code /apis/storage.k8s.io/v1/storageclasses}
 * @param content with {@code apiVersion}, {@code kind} and {@code metadata.name}
 */
record KubeObject(String collection, JsonObject content) {

  /** Returns the name of the object, which is unique in its collection. */
  String name() {
    return content.getAsJsonObject("metadata").get("name").getAsString();
  }

  /** Returns the path of the object. */
  String path() {
    return collection + "/" + name();
  }
}
