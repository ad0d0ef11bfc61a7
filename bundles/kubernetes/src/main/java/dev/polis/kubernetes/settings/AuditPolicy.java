package dev.polis.kubernetes.settings;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import dev.polis.base.config.DidYouMean;
import java.io.IOException;
import java.io.StringReader;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checks a policy of the API server's audit log by the API server's rules. It also refuses a field
 * that the API server would ignore, since without the field a rule differs from its author's
 * intention.
 */
public final class AuditPolicy {

  private static final String VERSION = "audit.k8s.io/v1";
  private static final String KIND = "Policy";

  /**
   * The default policy, which records the user, object and time of a request, without its content.
   * The cluster's own parts constantly read objects and renew leases, which would fill the log
   * within hours; the policy records only their reads of secrets. It does not record requests of
   * strangers, since a flood of them would push all others out of the log.
   */
  public static final String STANDARD =
      """
      {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
          {"level": "Metadata", "userGroups": ["system:authenticated"],
           "resources": [{"group": "", "resources": ["secrets"]}]},
          {"level": "None", "nonResourceURLs": [
            "/livez*", "/readyz*", "/healthz*", "/version", "/openapi/*",
            "/api", "/api/*", "/apis", "/apis/*"]},
          {"level": "None", "verbs": ["get", "list", "watch"], "users": [
            "system:apiserver", "system:kube-controller-manager", "system:kube-scheduler",
            "polis:master"]},
          {"level": "None", "verbs": ["get", "list", "watch"], "userGroups": [
            "system:nodes", "polis:csi-provisioner", "system:serviceaccounts:kube-system"]},
          {"level": "None", "resources": [
            {"group": "coordination.k8s.io", "resources": ["leases"]},
            {"group": "", "resources": ["events"]},
            {"group": "events.k8s.io", "resources": ["events"]}],
           "users": [
            "system:apiserver", "system:kube-controller-manager", "system:kube-scheduler",
            "polis:master"]},
          {"level": "None", "resources": [
            {"group": "coordination.k8s.io", "resources": ["leases"]},
            {"group": "", "resources": ["events"]},
            {"group": "events.k8s.io", "resources": ["events"]}],
           "userGroups": ["system:nodes", "system:serviceaccounts:kube-system"]},
          {"level": "Metadata", "userGroups": ["system:authenticated"]}
        ]
      }
      """;

  private static final List<String> LEVELS =
      List.of("None", "Metadata", "Request", "RequestResponse");
  private static final List<String> STAGES =
      List.of("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic");

  private static final List<String> FIELDS =
      List.of("apiVersion", "kind", "metadata", "omitStages", "omitManagedFields", "rules");
  private static final List<String> RULE_FIELDS =
      List.of(
          "level",
          "users",
          "userGroups",
          "verbs",
          "resources",
          "namespaces",
          "nonResourceURLs",
          "omitStages",
          "omitManagedFields");
  private static final List<String> RESOURCE_FIELDS =
      List.of("group", "resources", "resourceNames");

  private static final Pattern GROUP =
      Pattern.compile(
          "(?:[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)?");
  private static final Pattern URL = Pattern.compile("\\*|/[^*]*\\*?");

  /** The part of the parser's message for people. */
  private static final Pattern PLACE = Pattern.compile("line \\d+ column \\d+");

  private AuditPolicy() {}

  /**
   * Returns a policy in the API server's form; {@code apiVersion} and {@code kind} are optional.
   *
   * @throws IllegalArgumentException naming the error and its place, as the end of a sentence that
   *     names the policy
   */
  static String checked(String text) {
    JsonObject policy = object(parse(text), "the policy");
    fields(policy, FIELDS, "the policy");
    fixed(policy, "apiVersion", VERSION);
    fixed(policy, "kind", KIND);
    words(policy, "omitStages", STAGES, "the policy");
    flag(policy, "omitManagedFields", "the policy");
    List<JsonElement> rules = list(policy, "rules", "the policy");
    if (rules.isEmpty()) {
      throw wrong(
          "has no rules, so the audit log would stay empty; write {\"level\": \"None\"} if you want that");
    }
    for (int at = 0; at < rules.size(); at++) {
      rule(rules.get(at), "rule " + (at + 1));
    }
    policy.addProperty("apiVersion", VERSION);
    policy.addProperty("kind", KIND);
    return policy.toString();
  }

  private static JsonElement parse(String text) {
    try {
      JsonReader reader = new JsonReader(new StringReader(text));
      reader.setStrictness(Strictness.STRICT);
      JsonElement parsed = new Gson().getAdapter(JsonElement.class).read(reader);
      // Finds text after the object.
      reader.peek();
      return parsed;
    } catch (IOException | JsonParseException e) {
      Matcher place = PLACE.matcher(e.getMessage());
      throw wrong(
          "is not JSON%s; give one JSON object", place.find() ? " at " + place.group() : "");
    }
  }

  private static void rule(JsonElement element, String where) {
    JsonObject rule = object(element, where);
    fields(rule, RULE_FIELDS, where);
    if (!rule.has("level")) {
      throw wrong("has no level in %s; give one of %s", where, LEVELS);
    }
    word(rule.get("level"), LEVELS, where);
    for (String each : List.of("users", "userGroups", "verbs", "namespaces")) {
      texts(rule, each, where);
    }
    words(rule, "omitStages", STAGES, where);
    flag(rule, "omitManagedFields", where);
    List<String> urls = texts(rule, "nonResourceURLs", where);
    for (String url : urls) {
      if (!URL.matcher(url).matches()) {
        throw wrong(
            "names \"%s\" in %s, which is not a path; begin it with '/', and use '*' only at its end",
            url, where);
      }
    }
    List<JsonElement> resources = list(rule, "resources", where);
    if (!urls.isEmpty() && (!resources.isEmpty() || rule.has("namespaces"))) {
      throw wrong(
          "has nonResourceURLs beside resources or namespaces in %s; make two rules", where);
    }
    resources.forEach(each -> resource(each, where));
  }

  private static void resource(JsonElement element, String where) {
    JsonObject resource = object(element, "a resource of " + where);
    fields(resource, RESOURCE_FIELDS, "a resource of " + where);
    if (resource.has("group") && !GROUP.matcher(text(resource.get("group"), where)).matches()) {
      throw wrong(
          "names the group %s in %s; write the group in lower case without a version, \"\" for the core",
          resource.get("group"), where);
    }
    List<String> kinds = texts(resource, "resources", where);
    if (!texts(resource, "resourceNames", where).isEmpty() && kinds.isEmpty()) {
      throw wrong("has resourceNames without resources in %s; name the resources", where);
    }
  }

  private static void fields(JsonObject object, Collection<String> known, String where) {
    for (String name : object.keySet()) {
      if (!known.contains(name)) {
        throw wrong(
            "has the unknown field \"%s\" in %s%s", name, where, DidYouMean.among(name, known));
      }
    }
  }

  private static void fixed(JsonObject policy, String field, String value) {
    if (policy.has(field) && !text(policy.get(field), "the policy").equals(value)) {
      throw wrong("has the %s %s; it must be \"%s\"", field, policy.get(field), value);
    }
  }

  private static void flag(JsonObject object, String field, String where) {
    JsonElement value = object.get(field);
    if (value != null && !(value.isJsonPrimitive() && value.getAsJsonPrimitive().isBoolean())) {
      throw wrong("has %s in %s for %s; write true or false", value, where, field);
    }
  }

  private static void words(
      JsonObject object, String field, Collection<String> known, String where) {
    list(object, field, where).forEach(each -> word(each, known, where));
  }

  private static void word(JsonElement value, Collection<String> known, String where) {
    String word = text(value, where);
    if (!known.contains(word)) {
      throw wrong(
          "has the unknown value \"%s\" in %s%s", word, where, DidYouMean.among(word, known));
    }
  }

  private static List<String> texts(JsonObject object, String field, String where) {
    return list(object, field, where).stream().map(each -> text(each, where)).toList();
  }

  private static List<JsonElement> list(JsonObject object, String field, String where) {
    JsonElement value = object.get(field);
    if (value == null) {
      return List.of();
    }
    if (!(value instanceof JsonArray array)) {
      throw wrong("has %s in %s for %s; write a list", value, where, field);
    }
    return array.asList();
  }

  private static JsonObject object(JsonElement element, String where) {
    if (!(element instanceof JsonObject object)) {
      throw wrong("has %s for %s; write a JSON object", element, where);
    }
    return object;
  }

  private static String text(JsonElement element, String where) {
    if (!element.isJsonPrimitive() || !element.getAsJsonPrimitive().isString()) {
      throw wrong("has %s in %s; write a string", element, where);
    }
    return element.getAsString();
  }

  private static IllegalArgumentException wrong(String text, Object... values) {
    return new IllegalArgumentException(text.formatted(values));
  }
}
