package dev.polis.ctl.plugin;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.polis.plugins.manifest.PackageRequirement;
import dev.polis.plugins.manifest.PluginManifest;
import dev.polis.plugins.manifest.Provided;
import java.util.stream.Collectors;

/** Shows the content of a plugin's manifest. */
final class PluginRows {

  private PluginRows() {}

  static JsonObject of(PluginManifest manifest) {
    JsonObject row = new JsonObject();
    row.addProperty("name", manifest.symbolicName());
    row.addProperty("version", manifest.version().toString());
    row.addProperty("sha256", manifest.digest().hex());
    row.addProperty("size", manifest.size());
    row.addProperty("minimumPlatform", manifest.minimumPlatform().toString());
    JsonArray provides = new JsonArray();
    manifest.provides().forEach(each -> provides.add(each.toString()));
    row.add("provides", provides);
    JsonArray packages = new JsonArray();
    for (PackageRequirement need : manifest.packages()) {
      JsonObject one = new JsonObject();
      one.addProperty("name", need.name());
      one.addProperty("range", need.range().toString());
      one.addProperty("optional", need.optional());
      packages.add(one);
    }
    row.add("packages", packages);
    return row;
  }

  static String provides(PluginManifest manifest) {
    return manifest.provides().stream().map(Provided::toString).collect(Collectors.joining(", "));
  }
}
